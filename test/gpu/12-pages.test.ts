import { testPages } from '../memory-cases/pages.js'

testPages('cuda:0')
