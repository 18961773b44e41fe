import { mixedAttentionCases } from './aligned-cases.js'
import { holdCuda, useDevices } from './devices.js'

holdCuda(useDevices(), mixedAttentionCases())
