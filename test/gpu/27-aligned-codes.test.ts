/** Caches of codes as a model's lie: what reaches the kernels of Hopper, against fp64 over the numbers they stand for. */
import { codedCases } from './aligned-variants.js'
import { holdCuda, useDevices } from './devices.js'

holdCuda(useDevices(), codedCases())
