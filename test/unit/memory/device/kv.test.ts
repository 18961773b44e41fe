/** The cases that test/gpu holds a card to, on the CPU. */
import { testKv } from '../../../memory-cases/kv.js'

testKv('cpu')
