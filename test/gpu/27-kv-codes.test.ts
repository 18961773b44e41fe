/** Caches of codes: bytes against the definition, attention against fp64 over the numbers they stand for. */
import { codedAttentionCases, codedWriteCases } from '../ops-cases/kv-codes.js'
import { holdCuda, useDevices } from './devices.js'

holdCuda(useDevices(), [...codedWriteCases(), ...codedAttentionCases()])
