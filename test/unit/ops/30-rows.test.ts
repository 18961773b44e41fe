import * as rows from '../../ops-cases/rows.js'
import { holdCpuToReference } from './cases.js'

holdCpuToReference([
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
