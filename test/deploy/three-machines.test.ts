import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse, type Tags } from 'yaml'
import { readDockerfile } from './dockerfile.ts'
import { read, VERSION } from './environment.ts'
import { environmentFile } from './units.ts'

// deploy/compose/three-machines.yaml, compared with the files beside it. test/real reads it as Docker Compose does.

// biome-ignore lint/suspicious/noExplicitAny: Docker Compose's own library reads the file in test/real.
type Service = any

/** What Compose's merge takes away or replaces. */
const TAGS: Tags = ['!reset', '!override'].flatMap(
  (tag): Tags => [
    { tag, resolve: () => null },
    { tag, collection: 'map' },
  ],
)
const FOLDER = 'deploy/compose/three-machines'
const file = parse(read(`${FOLDER}.yaml`), { merge: true, customTags: TAGS })
const services: Record<string, Service> = file.services
const base = parse(read('compose.yaml'), { merge: true })
const MACHINES = [1, 2, 3]
const addressOf = (name: string, network: string) => services[name].networks[network].ipv4_address
const hostsOf = (name: string) =>
  Object.fromEntries(services[name].extra_hosts.map((line: string) => line.split(/:(.*)/).slice(0, 2)))
const withoutComments = (text: string) => text.replace(/^#.*\n/gm, '')

test('the three databases have the names of deploy/patroni, at their addresses', () => {
  const expected = Object.fromEntries(MACHINES.map((n) => [`db${n}.internal`, addressOf(`db${n}`, 'internal')]))
  const parts = MACHINES.flatMap((n) => [`db${n}`, `haproxy${n}`])
  for (const name of parts) expect([name, hostsOf(name)]).toEqual([name, expected])
  const names = [...read('deploy/patroni/haproxy.cfg').matchAll(/^ {2}server \w+ (\S+):5432 check$/gm)]
  expect(new Set(names.map(([, host]) => host))).toEqual(new Set(Object.keys(expected)))
})

test('each Patroni and each etcd sets what differs between machines, and nothing else', () => {
  const ofMachine = Object.keys(environmentFile('deploy/patroni/patroni.env')).filter((name) =>
    environmentFile('deploy/patroni/patroni.env')[name]!.startsWith('db1'),
  )
  const shared = environmentFile('deploy/patroni/etcd.env')
  for (const n of MACHINES) {
    const { environment } = services[`db${n}`]
    expect(environment).toEqual({
      PATRONI_NAME: `db${n}`,
      PATRONI_RESTAPI_CONNECT_ADDRESS: `db${n}.internal:8008`,
      PATRONI_POSTGRESQL_CONNECT_ADDRESS: `db${n}.internal:5432`,
    })
    expect(Object.keys(environment)).toEqual(ofMachine)
    const etcd = { ...shared, ...services[`etcd${n}`].environment }
    expect(Object.keys(etcd)).toEqual(Object.keys(shared))
    const named = Object.entries(shared).filter(([, value]) => /\bdb\d\b/.test(value))
    for (const [name, value] of named) expect([name, etcd[name]]).toEqual([name, asEtcd(value, n)])
  }
})

/** A setting of db1 in etcd.env, as etcd `n` of the containers has it. */
const asEtcd = (value: string, n: number) =>
  value.includes(',')
    ? value.replaceAll(/db(\d)(\.internal)?/g, 'etcd$1')
    : value.replaceAll(/db1(\.internal)?/g, `etcd${n}`)

test('Patroni finds etcd, and lets in the network of the containers', () => {
  const { etcd3, postgresql } = parse(read(`${FOLDER}/patroni.yaml`))
  expect(etcd3.hosts).toEqual(MACHINES.map((n) => `etcd${n}:2379`))
  const shared = parse(read('deploy/patroni/patroni.yaml')).postgresql.pg_hba as string[]
  const [{ subnet }] = file.networks.internal.ipam.config
  expect(postgresql.pg_hba).toEqual(shared.map((line) => line.replace('192.0.2.0/24', subnet)))
})

test.each([
  ['1', ['database', 'migrate', 'temporal-schema', 'api-1', 'worker']],
  ['2', ['api-2', 'worker-2']],
  ['3', ['api-3']],
])('the processes of machine %s find PostgreSQL by the HAProxy of that machine', (machine, others) => {
  const ofTemporal = Object.keys(services).filter((name) => /^temporal-(frontend|history|matching|worker)-/.test(name))
  const own = ofTemporal.filter((name) => name.endsWith(`-${machine}`))
  expect(own).toHaveLength(machine === '3' ? 0 : 4)
  for (const name of [...others, ...own]) {
    expect([name, hostsOf(name)]).toEqual([name, { postgres: addressOf(`haproxy${machine}`, 'internal') }])
  }
})

test('two processes run each service of Temporal', () => {
  const ran = Object.entries(services).flatMap(([name, service]) => {
    const run = service?.environment?.TEMPORAL_SERVICES
    return run ? [[name.replace(/^temporal-|-\d$/g, ''), run]] : []
  })
  const once = ['frontend', 'history', 'matching', 'worker'].map((name) => [name, name])
  expect(ran.toSorted()).toEqual([...once, ...once].toSorted())
})

test('nginx and Prometheus know the third API process and the second worker', () => {
  const line = '    server 10.89.25.12:8080 max_fails=0;\n'
  const third = `    server ${addressOf('api-3', 'proxy')}:8080 max_fails=0;\n`
  const two = withoutComments(read('deploy/compose/upstream.conf'))
  expect(withoutComments(read(`${FOLDER}/upstream.conf`))).toBe(two.replaceAll(line, line + third))
  const scraped = parse(read('deploy/compose/prometheus.yml'))
  scraped.scrape_configs[0].static_configs[0].targets.push('api-3:9464')
  scraped.scrape_configs[1].static_configs[0].targets.push('worker-2:9465')
  expect(parse(read(`${FOLDER}/prometheus.yml`))).toEqual(scraped)
})

test('the image of the database has the PostgreSQL of compose.yaml, and the Patroni that the tests run', () => {
  const [stage, ...more] = readDockerfile('deploy/patroni/Dockerfile')
  expect([stage!.image, more]).toEqual([base.services.postgres.image, []])
  for (const step of stage!.steps) {
    if (step.does !== 'COPY') continue
    for (const source of step.sources) expect(existsSync(join('deploy/patroni', source))).toBe(true)
  }
  expect(services.db1.image).toBe(`verdict-database:${VERSION}`)
  const [, version] = /^patroni==(\S+)$/m.exec(read('deploy/patroni/requirements.txt'))!
  expect(read('docs/failover.md')).toContain(`patroni[etcd3,psycopg3]==${version}`)
})
