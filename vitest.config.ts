import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/real/**', 'test/faults/**', '**/node_modules/**'],
    globalSetup: ['test/harness/global-postgres.ts'],
    testTimeout: 20_000,
    hookTimeout: 60_000,
  },
})
