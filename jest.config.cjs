// test/gpu runs on a machine with a card (docs/gpu-tests.md); test/package builds and installs the
// tarball, for minutes: `npm run test:package`.
module.exports = {
  testEnvironment: 'node',
  roots: ['<rootDir>/test'],
  testMatch: ['**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/gpu/', '<rootDir>/test/package/'],
  transform: { '^.+\\.ts$': ['ts-jest', { tsconfig: '<rootDir>/test/tsconfig.json' }] },
  // Sources import './x.js', as the compiled files must; under jest that is x.ts.
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  testTimeout: 900000, // against hangs alone: a sanitizer on a busy machine takes its time
  maxWorkers: 2,
}
