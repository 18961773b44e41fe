import { quantizedLinearCases } from '../../ops-cases/quantized-linear.js'
import { holdCpuToReference } from './cases.js'

holdCpuToReference(quantizedLinearCases(false))
