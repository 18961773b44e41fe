import { linearCases } from '../../ops-cases/linear.js'
import { holdCpuToReference } from './cases.js'

holdCpuToReference(linearCases())
