import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unpackPreviousFiles } from '../test/releases.ts'

// Part of `npm run check`: the public contract serves the callers of the last release.

const released = mkdtempSync(join(tmpdir(), 'verdict-contract-'))
try {
  unpackPreviousFiles(released, ['buf.yaml', 'proto'])
  process.exitCode = spawnSync('buf', ['breaking', '--against', released], { stdio: 'inherit' }).status ?? 1
} finally {
  rmSync(released, { recursive: true })
}
