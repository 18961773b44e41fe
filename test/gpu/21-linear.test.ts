import { linearCases } from '../ops-cases/linear.js'
import { holdCuda, useDevices } from './devices.js'

holdCuda(useDevices(), linearCases())
