import { execFile } from 'node:child_process'
import { access, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { cacheFolder } from '../../dev/temporal/install-options.ts'

const POM = fileURLToPath(new URL('time-skipping/pom.xml', import.meta.url))
const SCRIPT = `#!/bin/sh
exec java -cp "$(dirname "$0")/*" io.temporal.testserver.TestServer "$@"
`

/**
 * Returns the path of the test server of Temporal's Java SDK, which skips time, for
 * `TestWorkflowEnvironment.createTimeSkipping({ server: { executable: { type: 'existing-path', path } } })`. Downloads
 * it once from Maven Central (33 MB). Needs Maven and Java 17 or later.
 */
export async function timeSkippingServer(): Promise<string> {
  const version = /temporal-test-server<\/artifactId>\s*<version>([^<]+)/.exec(await readFile(POM, 'utf8'))![1]
  const cache = cacheFolder(process.env)
  const folder = join(cache, `temporal-test-server-${version}`)
  const program = join(folder, 'temporal-test-server')
  const exists = await access(program).then(
    () => true,
    () => false,
  )
  if (!exists) await download(folder, cache)
  return program
}

/** Downloads to a temporary folder and then renames it, so that an interrupted download leaves no incomplete folder. */
async function download(folder: string, cache: string): Promise<void> {
  await mkdir(cache, { recursive: true })
  const unfinished = await mkdtemp(`${folder}-`)
  const goals = ['dependency:copy-dependencies', `-DoutputDirectory=${unfinished}`]
  await promisify(execFile)('mvn', ['--quiet', '--batch-mode', '--file', POM, ...goals]).catch(async (error) => {
    await rm(unfinished, { recursive: true })
    throw new Error(`${error.message}\n${error.stdout}`)
  })
  await writeFile(join(unfinished, 'temporal-test-server'), SCRIPT, { mode: 0o755 })
  await rename(unfinished, folder).catch(() => rm(unfinished, { recursive: true }))
}
