import { attentionCases, kvWriteCases } from '../../ops-cases/attention.js'
import { holdCpuToReference } from './cases.js'

holdCpuToReference([...kvWriteCases(), ...attentionCases()])
