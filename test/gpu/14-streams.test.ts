import { testStreams } from '../memory-cases/streams.js'

testStreams('cuda:0')
