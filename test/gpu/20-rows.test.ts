/** Every op on rows, every dtype mix and odd shapes: rows apart and unaligned, poison around them. */
import * as rows from '../ops-cases/rows.js'
import { holdCuda, useDevices } from './devices.js'

holdCuda(useDevices(), [
  ...rows.convertCases(),
  ...rows.embeddingCases(),
  ...rows.gatherRowsCases(),
  ...rows.rmsNormCases(),
  ...rows.addRmsNormCases(),
  ...rows.addCases(),
  ...rows.swigluCases(),
  ...rows.headNormCases(),
  ...rows.ropeCases(),
])
