#!/usr/bin/env node
// Runs verdict.ts with the Node among this package's dependencies: the one on the PATH may be too old for TypeScript.
import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import '../server/process/compile-cache.mjs'

if (process.features.typescript) {
  await import('./verdict.ts')
} else {
  const node = join(createRequire(import.meta.url).resolve('node/package.json'), '../bin/node')
  const verdict = fileURLToPath(new URL('./verdict.ts', import.meta.url))
  const cache = new URL('../server/process/compile-cache.mjs', import.meta.url).href
  const args = ['--import', cache, verdict, ...process.argv.slice(2)]
  const { status, error } = spawnSync(node, args, { stdio: 'inherit' })
  if (error) throw error
  process.exitCode = status ?? 1
}
