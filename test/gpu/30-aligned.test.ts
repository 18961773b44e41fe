import { alignedAttentionCases, alignedLinearCases, alignedRowCases } from './aligned-cases.js'
import { holdCuda, useDevices } from './devices.js'

const devices = useDevices()
holdCuda(devices, [...alignedRowCases(), ...alignedLinearCases(), ...alignedAttentionCases()])
