import { expandedCases, latentCases, latentRowCases } from '../../ops-cases/latent.js'
import { holdCpuToReference } from './cases.js'

holdCpuToReference([...latentRowCases(), ...latentCases(), ...expandedCases()])
