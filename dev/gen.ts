import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { BUILT_OPENAPI } from '../server/http/site/built-files.ts'
import { configurationGuide } from './configuration/print.ts'
import { doctorPage } from './doctor-page.ts'
import { metricsPage } from './metrics/print.ts'
import { typeScriptOf } from './openapi/typescript.ts'
import { prometheusRule } from './prometheus-rule.ts'
import { pythonOf } from './python/contract.ts'
import { synchronousFiles } from './python/synchronous.ts'
import { statementsPage } from './sql/print.ts'

// `npm run gen` generates code and documents from the contract, and the synchronous half of the Python client from the
// other. It prints the guide to the configuration, the page of metrics, the doctor's checks and the SQL statements from
// their tables, and the alerts for the Prometheus operator. With `--check` it only reports files that are stale.

const run = promisify(execFile)
const ROOT = new URL('..', import.meta.url).pathname
const GEN = join(ROOT, 'gen')
const CLIENT = join(ROOT, 'client/gen/contract.ts')
const PYTHON = join(ROOT, 'client/python/src/verdict_client')
const CONFIGURATION = join(ROOT, 'docs/configuration.md')
const STATEMENTS = join(ROOT, 'docs/statements.sql')
const METRICS = join(ROOT, 'docs/metrics.md')
const DOCTOR = join(ROOT, 'docs/doctor.md')
const RULES = join(ROOT, 'deploy/prometheus/rules.yaml')
const ALERTS = join(ROOT, 'deploy/kubernetes/components/monitoring/alerts.yaml')

const scratch = await mkdtemp(join(tmpdir(), 'verdict-gen-'))
try {
  process.exitCode = process.argv.includes('--check') ? await check() : await generate()
} finally {
  await rm(scratch, { recursive: true })
}

async function generate(): Promise<number> {
  await run('buf', ['generate'], { cwd: ROOT })
  const document = await openApi(BUILT_OPENAPI)
  await writeFile(CLIENT, typeScriptOf(JSON.parse(document)))
  for (const [file, text] of await pythonFiles(document)) await writeFile(file, text)
  await writeFile(CONFIGURATION, configurationGuide())
  await writeFile(STATEMENTS, statementsPage())
  await writeFile(METRICS, metricsPage())
  await writeFile(DOCTOR, doctorPage(await readFile(DOCTOR, 'utf8')))
  await writeFile(ALERTS, prometheusRule(await readFile(RULES, 'utf8')))
  return 0
}

async function check(): Promise<number> {
  await run('buf', ['generate', '--output', scratch], { cwd: ROOT })
  const document = await openApi(join(scratch, 'openapi.json'))
  const stale = [
    ...(await stalePython(document)),
    ...(await differences(join(scratch, 'gen'), GEN)),
    ...((await isFile(BUILT_OPENAPI, document)) ? [] : [BUILT_OPENAPI]),
    ...((await isFile(CONFIGURATION, configurationGuide())) ? [] : [CONFIGURATION]),
    ...((await isFile(CLIENT, typeScriptOf(JSON.parse(document)))) ? [] : [CLIENT]),
    ...((await isFile(STATEMENTS, statementsPage())) ? [] : [STATEMENTS]),
    ...((await isFile(METRICS, metricsPage())) ? [] : [METRICS]),
    ...((await isFile(DOCTOR, doctorPage(await readFile(DOCTOR, 'utf8')))) ? [] : [DOCTOR]),
    ...((await isFile(ALERTS, prometheusRule(await readFile(RULES, 'utf8')))) ? [] : [ALERTS]),
  ]
  for (const file of stale) console.error(`${file} is stale: run "npm run gen"`)
  return stale.length === 0 ? 0 : 1
}

/** The generated files of the Python client. */
async function pythonFiles(document: string): Promise<Map<string, string>> {
  const files = [...(await synchronousFiles(join(PYTHON, '_async')))]
  return new Map([
    [join(PYTHON, '_contract.py'), pythonOf(JSON.parse(document))],
    ...files.map(([name, text]) => [join(PYTHON, '_sync', name), text] as const),
  ])
}

async function stalePython(document: string): Promise<string[]> {
  const files = await pythonFiles(document)
  const differing = [...files].map(async ([file, text]) => ((await isFile(file, text)) ? [] : [file]))
  const strangers = (await readdir(join(PYTHON, '_sync')))
    .map((name) => join(PYTHON, '_sync', name))
    .filter((file) => file.endsWith('.py') && !files.has(file))
  return [...(await Promise.all(differing)).flat(), ...strangers]
}

async function isFile(path: string, text: string): Promise<boolean> {
  return (await readFile(path, 'utf8').catch(() => '')) === text
}

/** Builds the OpenAPI document into a file, and returns its text. */
async function openApi(file: string): Promise<string> {
  await run(process.execPath, ['dev/build-openapi.ts', file], { cwd: ROOT })
  return readFile(file, 'utf8')
}

async function differences(fresh: string, committed: string): Promise<string[]> {
  const files = async (folder: string) =>
    (await readdir(folder, { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
  const all = new Set([...(await files(fresh)), ...(await files(committed))])
  const read = (folder: string, name: string) => readFile(join(folder, name), 'utf8').catch(() => undefined)
  const differing = [...all].map(async (name) =>
    (await read(fresh, name)) === (await read(committed, name)) ? [] : [name],
  )
  return (await Promise.all(differing)).flat().map((name) => join(committed, name))
}
