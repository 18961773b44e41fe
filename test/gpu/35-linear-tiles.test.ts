import { largeLinearCases, tiledLinearCases } from './aligned-cases.js'
import { holdCuda, useDevices } from './devices.js'

holdCuda(useDevices(), [...tiledLinearCases(), ...largeLinearCases()])
