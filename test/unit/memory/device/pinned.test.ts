/** The cases that test/gpu holds a card to, on the CPU. */
import { testPinned } from '../../../memory-cases/pinned.js'

testPinned('cpu')
