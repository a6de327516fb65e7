import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { goToolchain } from '../../dev/temporal/go-toolchain.ts'
import { cacheFolder } from '../../dev/temporal/install-options.ts'
import { installPatroni } from '../cluster/cluster.ts'
import { configOf, imageEnvironment, isFixed, stopMs } from '../deploy/environment.ts'
import { openFolder } from './daemon.ts'
import { startDebianPostgres } from './debian-postgres.ts'
import { temporalVariables } from './temporal-variables.ts'

// compose.yaml and the files beside it, read by the library of Docker Compose, Patroni, HAProxy and PostgreSQL.

const DOWNLOAD_MS = 300_000
const FOLDER = 'deploy/compose/three-machines'
const run = promisify(execFile)
/** What the operator writes into .env. */
const ASKED = {
  PUBLIC_URL: 'https://mail.verdict.example',
  DATA_REGION: 'eu',
  SMTP_PUBLIC_ADDRESSES: '192.0.2.25',
  SMTP_HELO_NAME: 'mail',
}

// biome-ignore lint/suspicious/noExplicitAny: a service as Docker Compose's library prints it.
type Service = any

let root: string
let project: string
let program: string

beforeAll(async () => {
  root = await openFolder('compose')
  const signal = AbortSignal.timeout(DOWNLOAD_MS)
  const go = await goToolchain({ report: () => {}, signal, cacheDir: cacheFolder(process.env) })
  program = join(root, 'compose-config')
  const env = { ...process.env, ...go.env, CGO_ENABLED: '0' }
  await run(go.program, ['build', '-o', program, '.'], { cwd: 'test/real/compose', env })
  project = join(root, 'project')
  await mkdir(project)
  await cp('compose.yaml', join(project, 'compose.yaml'))
  await cp('deploy', join(project, 'deploy'), { recursive: true })
}, DOWNLOAD_MS)

const config = async (...files: string[]) =>
  (await run(program, files, { cwd: project, env: { ...process.env, ...ASKED } })).stdout

test('Docker Compose reads compose.yaml, and refuses one with a wrong name', async () => {
  expect(await config('compose.yaml')).toContain('PUBLIC_URL: https://mail.verdict.example')
  const withSmtp = await config('compose.yaml', 'deploy/compose/smtp.yaml')
  const [, api = ''] = /^ {2}api-1:\n([\s\S]*?)^ {2}api-2:/m.exec(withSmtp) ?? []
  expect(api).toMatch(/published: "25"[\s\S]*published: "587"/)
  for (const secret of ['database-url', 'encryption-keys', 'tls-certificate', 'tls-key']) {
    expect(api).toContain(`source: ${secret}`)
  }
  // Without the values that it asks for.
  await expect(run(program, ['compose.yaml'], { cwd: project })).rejects.toThrow(/required variable PUBLIC_URL/)
  await writeFile(join(project, 'wrong.yaml'), 'services: { a: { image: b:1.0, depend_on: [c] } }')
  await expect(config('wrong.yaml')).rejects.toThrow(/depend_on/)
})

describe('three machines', () => {
  let services: Record<string, Service>
  beforeAll(async () => {
    services = parse(await config('compose.yaml', `${FOLDER}.yaml`)).services
  })

  test('they take the place of the single PostgreSQL and the single Temporal', () => {
    const names = Object.keys(services).toSorted()
    const ofTemporal = ['frontend', 'history', 'matching', 'worker'].flatMap((name) => [`${name}-1`, `${name}-2`])
    expect(names).toEqual(
      [
        ...['api-1', 'api-2', 'api-3', 'database', 'db1', 'db2', 'db3', 'etcd1', 'etcd2', 'etcd3'],
        ...['haproxy1', 'haproxy2', 'haproxy3', 'migrate', 'nginx', 'prometheus', 'worker', 'worker-2'],
        ...ofTemporal.map((name) => `temporal-${name}`),
        ...['temporal-namespace', 'temporal-schema', 'temporal-ui'],
      ].toSorted(),
    )
  })

  test('every image has a fixed version, no rights, and does not write to itself', () => {
    for (const [name, service] of Object.entries(services)) {
      expect([name, isFixed(service.image)]).toEqual([name, true])
      expect([name, service.cap_drop, service.security_opt]).toEqual([name, ['ALL'], ['no-new-privileges:true']])
      expect([name, service.read_only ?? false]).toEqual([name, name !== 'temporal-ui'])
    }
  })

  test('what each waits for happens', () => {
    for (const { depends_on: needs = {} } of Object.values(services)) {
      for (const [name, { condition }] of Object.entries<Service>(needs)) {
        if (condition === 'service_started') continue
        if (condition === 'service_healthy') expect([name, services[name].healthcheck?.test]).not.toContain(undefined)
        else expect([condition, services[name].restart]).toEqual(['service_completed_successfully', 'no'])
      }
    }
  })

  test('the command of the guide starts all of them', async () => {
    const [, named = ''] = /docker compose up --detach --wait (nginx worker worker-2.*)\n/.exec(
      await readFile('docs/installing.md', 'utf8'),
    )!
    const started = new Set<string>()
    const start = (name: string): void => {
      if (started.has(name)) return
      started.add(name)
      for (const needed of Object.keys(services[name].depends_on ?? {})) start(needed)
    }
    for (const name of named.split(' ')) start(name)
    expect([...started].toSorted()).toEqual(Object.keys(services).toSorted())
  })

  test('each mounts files that exist, and has addresses of its own', () => {
    const volumes = Object.values(services).flatMap((service) => service.volumes ?? [])
    const files = volumes.filter(({ type }) => type === 'bind').map(({ source }) => source)
    expect(files.length).toBeGreaterThan(10)
    for (const file of files) expect([file, existsSync(file)]).toEqual([file, true])
    const addresses = Object.values(services).flatMap(({ networks }) =>
      Object.values<Service>(networks).flatMap((network) => network?.ipv4_address ?? []),
    )
    expect(addresses).toHaveLength(3 + 3 + 3 + 1)
    expect(addresses).toEqual([...new Set(addresses)])
  })

  test('the processes of Verdict have a valid configuration, and the time to drain', () => {
    const ours = Object.entries(services).filter(([, { image }]) => image.startsWith('verdict:'))
    expect(ours.map(([name]) => name).toSorted()).toEqual(['api-1', 'api-2', 'api-3', 'migrate', 'worker', 'worker-2'])
    for (const [, service] of ours) {
      const process = configOf({ ...imageEnvironment(), ...service.environment })
      const [, minutes = '0', seconds = '0'] = /^(?:(\d+)m)?(?:(\d+)s)?$/.exec(service.stop_grace_period)!
      expect((Number(minutes) * 60 + Number(seconds)) * 1000).toBeGreaterThan(stopMs(process))
    }
  })

  test('two processes of each service of Temporal use what its server reads, and PostgreSQL has connections for them', async () => {
    const known = await temporalVariables()
    const ofTemporal = Object.values(services).filter(({ image }) => image.startsWith('temporalio/server:'))
    expect(ofTemporal).toHaveLength(8)
    for (const { environment, volumes } of ofTemporal) {
      for (const name of Object.keys(environment)) expect(known).toContain(name)
      const files = volumes.map(({ source, target }: Service) => [source.replace(`${project}/`, ''), target])
      expect(files.toSorted()).toEqual([
        ['deploy/temporal/config.yaml', environment.TEMPORAL_SERVER_CONFIG_FILE_PATH],
        ['deploy/temporal/dynamic.yaml', environment.DYNAMIC_CONFIG_FILE_PATH],
      ])
    }
    const configuration = await readFile('deploy/temporal/config.yaml', 'utf8')
    const perProcess = [...configuration.matchAll(/maxConns: (\d+)/g)].reduce((sum, [, most]) => sum + Number(most), 0)
    const { parameters } = parse(await readFile('deploy/patroni/patroni.yaml', 'utf8')).bootstrap.dcs.postgresql
    // Three API processes and two workers (docs/scaling.md), and what Patroni and you need.
    expect(8 * perProcess + 3 * 13 + 2 * 10 + 20).toBeLessThan(parameters.max_connections)
  })

  test(
    'Patroni reads its two files as one',
    async () => {
      const { volumes } = services.db1
      const folder = join(root, 'patroni.d')
      await mkdir(folder)
      for (const { source, target } of volumes) {
        if (target.startsWith('/etc/patroni/')) await cp(source, target.replace('/etc/patroni', folder))
      }
      const programs = await installPatroni(join(root, 'patroni'))
      const print =
        'import json, sys; from patroni.config import Config; print(json.dumps(Config(sys.argv[1]).copy(), default=dict))'
      const { stdout } = await run(join(programs, 'python'), ['-c', print, folder], { env: services.db1.environment })
      const shared = parse(await readFile('deploy/patroni/patroni.yaml', 'utf8'))
      const own = parse(await readFile(`${FOLDER}/patroni.yaml`, 'utf8'))
      expect(JSON.parse(stdout)).toMatchObject({
        name: 'db1',
        scope: shared.scope,
        etcd3: own.etcd3,
        postgresql: { pg_hba: own.postgresql.pg_hba, data_dir: shared.postgresql.data_dir },
      })
    },
    DOWNLOAD_MS,
  )

  test('HAProxy accepts what its container makes of the shared file', async () => {
    const { entrypoint } = services.haproxy1
    const folder = join(root, 'haproxy')
    await mkdir(folder)
    // The names are in the hosts file of the container.
    const shared = await readFile('deploy/patroni/haproxy.cfg', 'utf8')
    await writeFile(join(folder, 'haproxy.cfg'), shared.replaceAll(/db\d\.internal/g, '127.0.0.1'))
    const command = (entrypoint.at(-1) as string)
      .replaceAll('/tmp/haproxy.cfg', join(folder, 'made.cfg'))
      .replaceAll('/etc/verdict', folder)
      .replace('exec haproxy', 'exec haproxy -c')
    await run('sh', ['-c', command])
    const made = await readFile(join(folder, 'made.cfg'), 'utf8')
    expect([...made.matchAll(/^ {2}bind (.+)$/gm)].map(([, place]) => place)).toEqual([':5432', ':5433'])
  })

  test('the user and the database are created once, and a second run changes nothing', async () => {
    const postgres = await startDebianPostgres()
    try {
      const { hostname, port, username, password } = new URL(postgres.url)
      const secrets = join(root, 'secrets')
      await mkdir(secrets)
      await writeFile(join(secrets, 'patroni'), `PATRONI_SUPERUSER_PASSWORD=${password}\n`)
      await writeFile(join(secrets, 'postgres-password'), "it's secret")
      const script = join(secrets, 'database.sh')
      const text = await readFile(`${FOLDER}/database.sh`, 'utf8')
      await writeFile(script, text.replaceAll('/run/secrets', secrets))
      await chmod(script, 0o755)
      const env = { PATH: process.env.PATH, PGHOST: hostname, PGPORT: port, PGUSER: username, PGDATABASE: 'postgres' }
      for (let n = 0; n < 2; n++) await run('sh', [script], { env })
      const query = `select rolname, rolcreatedb, datcollate from pg_database d join pg_roles r on r.oid = d.datdba
        where datname = 'verdict'`
      const asUser = { ...env, PGUSER: 'verdict', PGPASSWORD: "it's secret", PGDATABASE: 'verdict' }
      const { stdout } = await run('psql', ['-At', '-c', query], { env: asUser })
      expect(stdout.trim()).toBe('verdict|t|C.UTF-8')
    } finally {
      await postgres.stop()
    }
  })
})
