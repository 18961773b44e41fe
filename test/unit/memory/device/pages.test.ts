/** The cases that test/gpu holds a card to, on the CPU. */
import { testPages } from '../../../memory-cases/pages.js'

testPages('cpu')
