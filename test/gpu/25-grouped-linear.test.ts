/** Products of the rows of experts on a card, against fp64. */
import { groupedLinearCases } from '../ops-cases/grouped-linear.js'
import { holdCuda, useDevices } from './devices.js'

const devices = useDevices()

holdCuda(devices, groupedLinearCases(true))
