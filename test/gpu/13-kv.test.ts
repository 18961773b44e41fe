import { testKv } from '../memory-cases/kv.js'

testKv('cuda:0')
