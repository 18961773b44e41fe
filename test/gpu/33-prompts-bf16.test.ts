import { promptCases } from './aligned-cases.js'
import { holdCuda, useDevices } from './devices.js'

holdCuda(useDevices(), promptCases('bf16'))
