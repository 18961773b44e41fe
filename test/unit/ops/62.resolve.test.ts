import { testResolving } from '../../ops-cases/resolve.js'

testResolving('cpu')
