// The tests that need a CUDA device: `npx jest -c test/gpu/jest.config.cjs`. They fail without one.
module.exports = {
  ...require('../../jest.config.cjs'),
  rootDir: '../..',
  roots: ['<rootDir>/test/gpu'],
  testPathIgnorePatterns: ['/node_modules/'],
  testTimeout: 900000,
  maxWorkers: 1,
}
