import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { configOf, read } from './environment.ts'
import { environmentFile } from './units.ts'

// Temporal and HAProxy read these files themselves in test/cluster. Here they are compared with each other.

const FOLDER = 'deploy/temporal'
const config = read(`${FOLDER}/config.yaml`)
const machine = environmentFile(`${FOLDER}/temporal.env`)
const unit = read(`${FOLDER}/temporal@.service`)
const haproxy = read(`${FOLDER}/haproxy.cfg`)
const guide = read('docs/temporal.md')
const SERVICES = ['frontend', 'history', 'matching', 'worker']
/** Two processes of each service. */
const PROCESSES = 2 * SERVICES.length

/** The ports of a kind in the order of the services. */
const portsOf = (kind: string) =>
  [...config.matchAll(new RegExp(`${kind}: (\\d+)$`, 'gm'))].map(([, port]) => Number(port))
const environmentOf = (text: string) => [...text.matchAll(/env "(\w+)"( \||\b)/g)].map(([, name]) => name!)

test('each service of a machine has ports of its own, for calls, membership and metrics', () => {
  const [, metrics] = /\$metrics := dict (.+) \}\}/.exec(config)!
  const pairs = [...metrics!.matchAll(/"(\w+)" "(\d+)"/g)].map(([, name, port]) => [name, Number(port)] as const)
  expect(pairs).toEqual(portsOf('grpcPort').map((port, i) => [SERVICES[i], port + 10_000]))
  const ports = [
    ...portsOf('grpcPort'),
    ...portsOf('membershipPort'),
    ...portsOf('httpPort'),
    ...pairs.map(([, port]) => port),
  ]
  expect(new Set(ports).size).toBe(13)
})

test('what the configuration reads without a default is in the environment file or set by the unit', () => {
  const required = [...config.matchAll(/env "(\w+)"(?! \| default)/g)].map(([, name]) => name!)
  const optional = ['TEMPORAL_BROADCAST_ADDRESS']
  const set = [...Object.keys(machine), ...[...unit.matchAll(/^Environment=(\w+)=/gm)].map(([, name]) => name!)]
  expect(required.filter((name) => !set.includes(name) && !optional.includes(name))).toEqual([])
  expect(Object.keys(machine).filter((name) => !environmentOf(config).includes(name))).toEqual([])
})

test('the schema is made with the variables of the environment file', () => {
  const used = [...read(`${FOLDER}/schema.sh`).matchAll(/"\$(\w+)"/g)].map(([, name]) => name!)
  const given = used.filter((name) => name === name.toUpperCase())
  expect(given.sort()).toEqual(
    Object.keys(machine)
      .filter((name) => name !== 'BIND_ON_IP')
      .sort(),
  )
})

test('PostgreSQL is behind the HAProxy of deploy/patroni, which has connections for two processes of each service', () => {
  const [, address] = /^listen primary\n {2}bind (\S+)$/m.exec(read('deploy/patroni/haproxy.cfg'))!
  expect(`${machine.POSTGRES_SEEDS}:${machine.DB_PORT}`).toBe(address)
  const perProcess = [...config.matchAll(/maxConns: (\d+)/g)].reduce((sum, [, conns]) => sum + Number(conns), 0)
  expect(config).toContain(`Up to ${perProcess} connections`)
  expect(config).toContain(`at most ${PROCESSES * perProcess}`)
  const { max_connections } = parse(read('deploy/patroni/patroni.yaml')).bootstrap.dcs.postgresql.parameters
  expect(PROCESSES * perProcess).toBeLessThan(max_connections / 2)
})

test('HAProxy leads to the frontends, and asks them over HTTP', () => {
  const [frontend] = portsOf('grpcPort')
  const servers = [...haproxy.matchAll(/^ {2}server \w+ (\S+):(\d+) check$/gm)]
  expect(servers.map(([, , port]) => Number(port))).toEqual([frontend, frontend])
  expect(servers[0]![1]).toBe(machine.BIND_ON_IP)
  expect(haproxy).toContain(`default-server port ${portsOf('httpPort')[0]} `)
})

test('TEMPORAL_ADDRESS in haproxy.cfg is that of its listener, and valid', () => {
  const [, address] = /^# {3}TEMPORAL_ADDRESS=(\S+)$/m.exec(haproxy)!
  expect(haproxy).toContain(`  bind ${address}\n`)
  expect(config).toContain(`rpcAddress: "${address}"`)
  const verdict = environmentFile('deploy/systemd/verdict.env')
  expect(
    configOf({ ...verdict, DATABASE_URL_FILE: '/x', ENCRYPTION_KEYS_FILE: '/x', TEMPORAL_ADDRESS: address! }).temporal
      ?.address,
  ).toBe(address)
})

test('the unit of systemd starts what the guide installs, once for each service', () => {
  const [, program] = /^ExecStart=(\S+) /m.exec(unit)!
  expect(guide).toContain(program!.slice(0, program!.lastIndexOf('/')))
  for (const [, file] of unit.matchAll(/^(?:EnvironmentFile=|LoadCredential=\S+:)(\S+)$/gm)) {
    const name = file!.slice('/etc/temporal/'.length)
    expect(file).toBe(`/etc/temporal/${name}`)
    expect(existsSync(`${FOLDER}/${name}`)).toBe(true)
    expect(guide).toContain(name)
  }
  const enabled = `systemctl enable --now ${SERVICES.map((name) => `temporal@${name}`).join(' ')}`
  expect(unit).toContain(enabled)
  expect(guide).toContain(enabled)
})

test('a cluster has as many history shards as the server of Compose', () => {
  const [, shards] = /NUM_HISTORY_SHARDS" \| default "(\d+)"/.exec(config)!
  expect(parse(read('compose.yaml'), { merge: true }).services.temporal.environment.NUM_HISTORY_SHARDS).toBe(
    Number(shards),
  )
})

test('the dynamic configuration is valid YAML whose settings have one value each', () => {
  for (const [name, values] of Object.entries(parse(read(`${FOLDER}/dynamic.yaml`)))) {
    expect(name).toMatch(/^\w+\.\w+$/)
    expect(values).toEqual([{ value: expect.anything() }])
  }
})
