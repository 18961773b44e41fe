/** Every op, every dtype mix and odd shapes: rows apart and unaligned, poison around them. */
import { attentionCases, kvWriteCases } from '../ops-cases/attention.js'
import { linearCases } from '../ops-cases/linear.js'
import * as rows from '../ops-cases/rows.js'
import { holdCuda, useDevices } from './devices.js'

const devices = useDevices()
holdCuda(devices, [
  ...rows.convertCases(),
  ...rows.embeddingCases(),
  ...rows.gatherRowsCases(),
  ...rows.rmsNormCases(),
  ...rows.addRmsNormCases(),
  ...rows.addCases(),
  ...rows.swigluCases(),
  ...rows.headNormCases(),
  ...rows.ropeCases(),
  ...linearCases(),
  ...kvWriteCases(),
  ...attentionCases(),
])
