import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { test } from 'vitest'

test('the generated code and the OpenAPI document match the contract', async () => {
  await promisify(execFile)(process.execPath, ['dev/gen.ts', '--check'])
})
