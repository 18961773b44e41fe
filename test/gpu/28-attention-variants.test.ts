/** Soft cap, sinks and log-sum-exp: the plain kernel as far as the CPU's cases go, then the others. */
import { variantCases } from '../ops-cases/attention-variants.js'
import * as aligned from './aligned-variants.js'
import { holdCuda, useDevices } from './devices.js'

holdCuda(useDevices(), [...variantCases(), ...aligned.variantCases()])
