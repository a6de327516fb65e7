import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { readDatabaseUrl } from '../../server/config/database-url.ts'
import { STATEMENT_MS } from '../../server/db/connect.ts'
import { snippets } from '../docs/snippets.ts'
import { read } from './environment.ts'
import { environmentFile } from './units.ts'

// Patroni, etcd and HAProxy read these files themselves in test/cluster. Here they are compared with each other.

const patroni = parse(read('deploy/patroni/patroni.yaml'))
const machine = environmentFile('deploy/patroni/patroni.env')
const etcd = environmentFile('deploy/patroni/etcd.env')
const haproxy = read('deploy/patroni/haproxy.cfg')
const hosts = ['db1', 'db2', 'db3'].map((name) => `${name}.internal`)
const portOf = (place: string) => Number(/:(\d+)$/.exec(place)![1])

test('all files name the same three machines', () => {
  expect(patroni.etcd3.hosts).toEqual(hosts.map((host) => `${host}:${portOf(etcd.ETCD_ADVERTISE_CLIENT_URLS!)}`))
  const peers = hosts.map((host, i) => `db${i + 1}=http://${host}:${portOf(etcd.ETCD_LISTEN_PEER_URLS!)}`)
  expect(etcd.ETCD_INITIAL_CLUSTER).toBe(peers.join(','))
  expect([etcd.ETCD_NAME, machine.PATRONI_NAME]).toEqual(['db1', 'db1'])
  const servers = [...haproxy.matchAll(/^ {2}server (db\d) (\S+) check$/gm)].map(
    ([, name, place]) => `${name} ${place}`,
  )
  const each = hosts.map((host, i) => `db${i + 1} ${host}:${portOf(patroni.postgresql.listen)}`)
  expect(servers).toEqual([...each, ...each])
})

test('HAProxy asks Patroni where it listens', () => {
  expect(haproxy).toContain(`default-server port ${portOf(patroni.restapi.listen)} `)
  expect(machine.PATRONI_RESTAPI_CONNECT_ADDRESS).toBe(`db1.internal:${portOf(patroni.restapi.listen)}`)
  expect(machine.PATRONI_POSTGRESQL_CONNECT_ADDRESS).toBe(`db1.internal:${portOf(patroni.postgresql.listen)}`)
})

test('the URLs in haproxy.cfg are those of its listeners', () => {
  const urls = [...haproxy.matchAll(/^# {3}\w+=(postgres:.*)$/gm)].map(([, url]) => readDatabaseUrl(url!).hosts)
  const binds = [...haproxy.matchAll(/^ {2}bind (\S+):(\d+)$/gm)].map(([, host, port]) => [
    { host, port: Number(port) },
  ])
  expect(urls).toEqual(binds)
})

test("Patroni's own rule for its times holds", () => {
  const { ttl, loop_wait, retry_timeout } = patroni.bootstrap.dcs
  expect(ttl).toBeGreaterThanOrEqual(loop_wait + 2 * retry_timeout)
})

test('a standby that vanished holds up no commit for as long as a statement may take', () => {
  const { wal_sender_timeout } = patroni.bootstrap.dcs.postgresql.parameters
  const seconds = Number(/^(\d+)s$/.exec(wal_sender_timeout)![1])
  expect(seconds + patroni.bootstrap.dcs.loop_wait).toBeLessThan(STATEMENT_MS / 1000)
})

test('CloudNativePG gets the same settings as Patroni', () => {
  const { spec } = parse(read('deploy/kubernetes/components/database/cloudnativepg.yaml'))
  const { wal_log_hints, ...parameters } = patroni.bootstrap.dcs.postgresql.parameters
  const texts = Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, String(value)]))
  expect(spec.postgresql.parameters).toEqual(texts)
  expect(spec.instances).toBe(hosts.length)
})

test('the unit of systemd starts what the guide installs', () => {
  const unit = read('deploy/patroni/patroni.service')
  const guide = read('docs/failover.md')
  const [, program, configuration] = /^ExecStart=(\S+) (\S+)$/m.exec(unit)!
  const [, secrets] = /^EnvironmentFile=(\S+)$/m.exec(unit)!
  expect(guide).toContain(`${program} --validate-config ${configuration}`)
  expect(guide).toContain(`deploy/patroni/patroni.yaml ${configuration}`)
  expect(guide).toContain(`editor ${secrets}`)
})

test('commands of the guide that need the variables of patroni.env read them first', () => {
  const needing = snippets(read('docs/failover.md')).filter(({ text }) => /--validate-config|switchover/.test(text))
  expect(needing).toHaveLength(2)
  for (const { text } of needing)
    expect(text).toMatch(/set -a; \. \/etc\/patroni\/patroni\.env; .*\n.*\/opt\/patroni\/bin\//)
})
