import { alignedLinearCases, alignedRowCases } from './aligned-cases.js'
import { holdCuda, useDevices } from './devices.js'

holdCuda(useDevices(), [...alignedRowCases(), ...alignedLinearCases()])
