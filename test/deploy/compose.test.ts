import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { snippets } from '../docs/snippets.ts'
import { temporaryFolder } from '../harness/until-end.ts'
import { COMMANDS, configOf, imageEnvironment, isFixed, read, stopMs, VERSION } from './environment.ts'

interface Service {
  image: string
  command?: string[]
  environment?: Record<string, string | number>
  healthcheck?: { test?: string[]; disable?: boolean }
  depends_on?: Record<string, { condition: string }>
  networks: string[] | Record<string, { ipv4_address?: string } | null>
  secrets?: (string | { source: string })[]
  volumes?: string[]
  ports?: string[]
  cap_drop: string[]
  security_opt: string[]
  read_only?: boolean
  restart: string
  stop_grace_period?: string
}

const FILE = parse(read('compose.yaml'), { merge: true })
const services: Record<string, Service> = FILE.services
const ours = Object.entries(services).filter(([, { image }]) => image.startsWith('verdict:'))
/** What the operator writes into .env. */
const ASKED: Record<string, string> = {
  PUBLIC_URL: 'https://mail.verdict.example',
  DATA_REGION: 'eu',
  SMTP_PUBLIC_ADDRESSES: '192.0.2.25',
  SMTP_HELO_NAME: 'mail.verdict.example',
}

function environmentOf({ environment = {} }: Service): Record<string, string> {
  const filled = Object.entries(environment).map(([name, value]) => [
    name,
    String(value).replace(/\$\{(\w+):\?[^}]+\}/g, (_, asked) => ASKED[asked]!),
  ])
  return { ...imageEnvironment(), ...Object.fromEntries(filled) }
}

const addressOf = (name: string) => {
  const { networks } = services[name]!
  return Array.isArray(networks) ? undefined : networks.proxy?.ipv4_address
}

test('two API processes, a worker and the migrations run the commands of npm', () => {
  expect(ours.map(([name, { command }]) => [name, command?.join(' ') ?? COMMANDS.api])).toEqual([
    ['migrate', COMMANDS.migrate],
    ['api-1', COMMANDS.api],
    ['api-2', COMMANDS.api],
    ['worker', COMMANDS.worker],
  ])
})

test.each(ours)('%s has a valid configuration, and the time to drain', (_, service) => {
  const config = configOf(environmentOf(service))
  const [, minutes = '0', seconds = '0'] = /^(?:(\d+)m)?(?:(\d+)s)?$/.exec(service.stop_grace_period!)!
  expect((Number(minutes) * 60 + Number(seconds)) * 1000).toBeGreaterThan(stopMs(config))
})

test('every image has a fixed version, and ours is that of package.json', () => {
  for (const { image } of Object.values(services)) expect([image, isFixed(image)]).toEqual([image, true])
  for (const [, { image }] of ours) expect(image).toBe(`verdict:${VERSION}`)
})

test.each(Object.entries(services))('%s has no rights, and does not write to its image', (name, service) => {
  expect(service.cap_drop).toEqual(['ALL'])
  expect(service.security_opt).toEqual(['no-new-privileges:true'])
  expect(service.read_only ?? false).toBe(name !== 'temporal-ui')
})

test.each(Object.entries(services))('what %s waits for happens', (_, { depends_on: needs = {} }) => {
  for (const [name, { condition }] of Object.entries(needs)) {
    const needed = services[name]!
    if (condition === 'service_healthy') expect(needed.healthcheck?.test).toBeDefined()
    else expect([condition, needed.restart]).toEqual(['service_completed_successfully', 'no'])
  }
})

test.each(Object.entries(services))('%s mounts files of the repository and secrets that are declared', (_, service) => {
  const sources = (service.volumes ?? []).map((volume) => volume.split(':')[0]!)
  for (const source of sources) expect(source.startsWith('./') ? existsSync(source) : source in FILE.volumes).toBe(true)
  for (const secret of service.secrets ?? []) {
    expect(Object.keys(FILE.secrets)).toContain(typeof secret === 'string' ? secret : secret.source)
  }
})

test('the files of secrets are in a folder that git and the build leave out', () => {
  for (const { file } of Object.values(FILE.secrets) as { file: string }[]) expect(file).toMatch(/^\.\/secrets\//)
  expect(read('.gitignore')).toMatch(/^secrets\/$/m)
  expect(read('.gitignore')).toMatch(/^\.env$/m)
})

test('Prometheus scrapes every process where it serves metrics', () => {
  const { scrape_configs: jobs } = parse(read('deploy/compose/prometheus.yml'))
  const targets = jobs.flatMap((job: { static_configs: { targets: string[] }[] }) => job.static_configs[0]!.targets)
  const expected = ours.flatMap(([name, service]) => {
    const { metricsPort, workerMetricsPort } = configOf(environmentOf(service))
    if (name === 'migrate') return []
    return [`${name}:${name === 'worker' ? workerMetricsPort : metricsPort}`]
  })
  expect(targets).toEqual(expected)
})

test('only callers and mail servers reach the machine from outside', () => {
  const published = Object.values(services).flatMap(({ ports = [] }) => ports)
  expect(published.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual(['25:2525', '443:443'])
})

test('smtp.yaml adds an SMTP front to the process that receives bounces, with the certificate of nginx', () => {
  const added: Record<string, Partial<Service>> = parse(read('deploy/compose/smtp.yaml')).services
  expect(Object.keys(added)).toEqual(['api-1'])
  const { environment, ports, secrets } = added['api-1']!
  const config = configOf(
    environmentOf({ ...services['api-1']!, environment: { ...services['api-1']!.environment, ...environment } }),
  )
  expect(config).toMatchObject({ smtpFrontPort: 2587, smtpFrontHost: '0.0.0.0', tls: undefined })
  expect(ports).toEqual([`587:${config.smtpFrontPort}`])
  expect([environment!.SMTP_FRONT_CERT_FILE, environment!.SMTP_FRONT_KEY_FILE]).toEqual(
    secrets!.map((name) => `/run/secrets/${name}`),
  )
  for (const name of secrets as string[]) expect(Object.keys(FILE.secrets)).toContain(name)
})

test('nginx finds the API processes at their fixed addresses, and they trust it', () => {
  const upstream = read('deploy/nginx/upstream.conf').replace(/^#.*\n/gm, '')
  const expected = upstream
    .replaceAll('127.0.0.1:8080', `${addressOf('api-1')}:8080`)
    .replaceAll('127.0.0.1:8081', `${addressOf('api-2')}:8080`)
  expect(read('deploy/compose/upstream.conf').replace(/^#.*\n/gm, '')).toBe(expected)
  for (const [, service] of ours) expect(environmentOf(service).TRUST_PROXY).toBe(addressOf('nginx'))
})

test('each file that the guide turns on joins those before it', () => {
  const commands = snippets(read('docs/installing.md')).flatMap(({ text }) => {
    const [written] = /^ *cat > \.env [\s\S]*?\n *END\n/m.exec(text) ?? []
    return [...(written ? [written.replace(/^ +/gm, '')] : []), ...(text.match(/^.* \.env$/gm) ?? [])]
  })
  const folder = temporaryFolder()
  execFileSync('sh', ['-ec', commands.join('\n')], { cwd: folder })
  const lists = readFileSync(join(folder, '.env'), 'utf8').match(/(?<=^COMPOSE_FILE=).*$/gm)
  const files = ['compose.yaml', 'deploy/compose/three-machines.yaml', 'deploy/compose/smtp.yaml']
  expect(lists).toEqual([files.join(':')])
  for (const file of files) expect(existsSync(file)).toBe(true)
})
