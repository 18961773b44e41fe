import { testPinned } from '../memory-cases/pinned.js'

testPinned('cuda:0')
