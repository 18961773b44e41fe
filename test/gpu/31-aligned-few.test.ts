import { fewTokensCases } from './aligned-cases.js'
import { holdCuda, useDevices } from './devices.js'

holdCuda(useDevices(), fewTokensCases())
