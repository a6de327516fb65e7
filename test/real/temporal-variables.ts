import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { goToolchain } from '../../dev/temporal/go-toolchain.ts'
import { cacheFolder } from '../../dev/temporal/install-options.ts'

const MODULE = 'go.temporal.io/server'
const DOWNLOAD_MS = 300_000
const run = promisify(execFile)

/** The variables that Temporal's server reads: by its configuration's template, its command line, and its image. */
export async function temporalVariables(): Promise<Set<string>> {
  const signal = AbortSignal.timeout(DOWNLOAD_MS)
  const go = await goToolchain({ report: () => {}, signal, cacheDir: cacheFolder(process.env) })
  const env = { ...process.env, ...go.env, GOTOOLCHAIN: 'local', GOWORK: 'off' }
  // In the version that the development server has.
  const { stdout } = await run(go.program, ['mod', 'download', '-json', MODULE], { cwd: resolve('dev/temporal'), env })
  const folder: string = JSON.parse(stdout).Dir
  const read = (file: string) => readFile(join(folder, file), 'utf8')
  const names = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, name]) => name!)
  return new Set([
    ...names(await read('common/config/config_template_embedded.yaml'), /env "(\w+)"/g),
    ...names(await read('cmd/server/main.go'), /EnvVars: +\[\]string\{"(\w+)"\}/g),
    ...names(await read('common/config/loader.go'), /= "(TEMPORAL_\w+)"/g),
    ...names(await read('docker/scripts/sh/entrypoint.sh'), /export (\w+)/g),
  ])
}
