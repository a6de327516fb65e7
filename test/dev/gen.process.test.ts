import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { test } from 'vitest'

test('generated code and the document are what the contract says', async () => {
  await promisify(execFile)(process.execPath, ['dev/gen.ts', '--check'])
})
