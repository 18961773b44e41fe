/** The cases that test/gpu holds a card to, on the CPU. */
import { testStreams } from '../../../memory-cases/streams.js'

testStreams('cpu')
