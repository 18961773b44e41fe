import { testGraphs } from '../../ops-cases/graphs.js'

testGraphs('cpu')
