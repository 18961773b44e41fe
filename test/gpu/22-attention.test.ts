import { attentionCases, kvWriteCases } from '../ops-cases/attention.js'
import { holdCuda, useDevices } from './devices.js'

holdCuda(useDevices(), [...kvWriteCases(), ...attentionCases()])
