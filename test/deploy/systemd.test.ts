import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { COMMANDS, configOf, read, stopMs } from './environment.ts'
import { environmentFile, listOf, settingOf } from './units.ts'

const API = ['verdict-api@8080.service', 'verdict-api@8081.service']
const UNITS = [...API, 'verdict-worker.service', 'verdict-migrate.service']
const RUNNING = UNITS.slice(0, 3)

const FILE = environmentFile('deploy/systemd/verdict.env')
const setByUnit = (unit: string) => listOf(unit, 'Environment').map((pair) => pair.split('=') as [string, string])

test('each unit runs the command of npm, with the Node of the product', () => {
  const ran = UNITS.map((unit) => settingOf(unit, 'ExecStart'))
  const command = (name: keyof typeof COMMANDS) => `/opt/verdict/node_modules/.bin/${COMMANDS[name]}`
  expect(ran).toEqual([command('api'), command('api'), command('worker'), command('migrate')])
  for (const unit of API) expect(existsSync(settingOf(unit, 'ExecStartPost')!.split(' ')[1]!)).toBe(true)
  for (const unit of UNITS) expect(settingOf(unit, 'WorkingDirectory')).toBe('/opt/verdict')
})

test.each(UNITS)(
  '%s has a valid configuration of its environment file, its credentials and its own settings',
  (unit) => {
    const own = Object.fromEntries(setByUnit(unit))
    const config = configOf({ ...own, ...FILE })
    expect(config.production).toBe(true)
    const credentials = listOf(unit, 'LoadCredential').map((credential) => `%d/${credential.split(':')[0]}`)
    expect(
      Object.entries(own)
        .filter(([name]) => name.endsWith('_FILE'))
        .map(([, path]) => path),
    ).toEqual(credentials)
    expect(settingOf(unit, 'EnvironmentFile')).toBe('/etc/verdict/verdict.env')
  },
)

test('the environment file sets nothing that a unit sets, because it would win', () => {
  const names = UNITS.flatMap((unit) => setByUnit(unit).map(([name]) => name))
  expect(names.filter((name) => name in FILE)).toEqual([])
})

test.each(RUNNING)('%s has the time to drain', (unit) => {
  const config = configOf({ ...Object.fromEntries(setByUnit(unit)), ...FILE })
  expect(Number(settingOf(unit, 'TimeoutStopSec')) * 1000).toBeGreaterThan(stopMs(config))
})

test('nginx finds the API processes at the ports of their instances, and they trust it', () => {
  const upstream = read('deploy/nginx/upstream.conf')
  const ports = API.map((unit) => Object.fromEntries(setByUnit(unit)).PORT)
  expect(ports).toEqual(['8080', '8081'])
  for (const port of ports)
    expect(upstream.match(new RegExp(`server 127.0.0.1:${port} max_fails=0;`, 'g'))).toHaveLength(2)
  expect(FILE.TRUST_PROXY).toBe('127.0.0.1')
})

test('no two processes of a machine serve metrics on the same port', () => {
  const configs = RUNNING.map((unit) => configOf({ ...Object.fromEntries(setByUnit(unit)), ...FILE }))
  expect([configs[0]!.metricsPort, configs[1]!.metricsPort]).toEqual([18_080, 18_081])
  expect([18_080, 18_081]).not.toContain(configs[2]!.workerMetricsPort)
})

test('Prometheus scrapes each process of a machine once', () => {
  const configs = RUNNING.map((unit) => configOf({ ...Object.fromEntries(setByUnit(unit)), ...FILE }))
  const ports = configs.map(({ metricsPort, workerMetricsPort }, at) => (at < 2 ? metricsPort : workerMetricsPort))
  const { scrape_configs: jobs } = parse(read('deploy/prometheus/prometheus.yaml'))
  const targets = jobs.flatMap((job: { static_configs: { targets: string[] }[] }) => job.static_configs[0]!.targets)
  expect(targets).toEqual(ports.map((port) => `127.0.0.1:${port}`))
})

test('smtp.conf adds a valid SMTP front to the process that has the low ports, with the credentials that it names', () => {
  const [unit, more] = [API[0]!, ['deploy/systemd/smtp.conf']]
  const own = Object.fromEntries(listOf(unit, 'Environment', more).map((pair) => pair.split('=')))
  expect(configOf({ ...own, ...FILE })).toMatchObject({ smtpFrontPort: 587, smtpFrontHost: '0.0.0.0', tls: undefined })
  const credentials = listOf(unit, 'LoadCredential', more).map((credential) => `%d/${credential.split(':')[0]}`)
  expect(credentials).toEqual(Object.keys(own).flatMap((name) => (name.endsWith('_FILE') ? [own[name]] : [])))
  expect(new Set(listOf(unit, 'AmbientCapabilities', more))).toEqual(new Set(['CAP_NET_BIND_SERVICE']))
})

test('only the process that receives bounces may open a port below 1024', () => {
  const capabilities = UNITS.map((unit) => [listOf(unit, 'AmbientCapabilities'), listOf(unit, 'CapabilityBoundingSet')])
  const bind = ['CAP_NET_BIND_SERVICE']
  expect(capabilities).toEqual([
    [bind, bind],
    [[], []],
    [[], []],
    [[], []],
  ])
  expect(UNITS.map((unit) => settingOf(unit, 'PrivateUsers'))).toEqual(['no', 'yes', 'yes', 'yes'])
})
