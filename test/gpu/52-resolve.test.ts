import { testResolving } from '../ops-cases/resolve.js'

testResolving('cuda:0')
