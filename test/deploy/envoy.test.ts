import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { longestCallMs } from '../../server/config/limits.ts'
import { VARIABLES } from '../../server/config/variables.ts'
import { KEEP_ALIVE_MS } from '../../server/http/listener/http1.ts'
import { read } from './environment.ts'

// biome-ignore lint/suspicious/noExplicitAny: Envoy itself reads the files in test/real.
type Config = any

const secondsOf = (text: string) => Number(/^(\d+)s$/.exec(text)![1])
const HTTP = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions'

describe.each([
  ['deploy/envoy/envoy.yaml', ['verdict']],
  ['deploy/cells/envoy.yaml', ['a1', 'b2']],
])('%s', (file, names) => {
  const { listeners, clusters }: Config = parse(read(file)).static_resources
  const manager = listeners[0].filter_chains[0].filters[0].typed_config
  const routes: Config[] = manager.route_config.virtual_hosts[0].routes.map(({ route }: Config) => route)

  test('leads to each cluster', () => {
    expect(clusters.map(({ name }: Config) => name)).toEqual(names)
    expect(routes.map(({ cluster }) => cluster).toSorted()).toEqual(names)
  })

  test('waits longer than the longest call takes, and closes an idle connection before the API does', () => {
    const longest = longestCallMs(VARIABLES.sendBudgetMs.default!({} as never)) / 1000
    for (const { timeout, idle_timeout } of routes) {
      expect([timeout, secondsOf(idle_timeout) > longest]).toEqual(['0s', true])
    }
    for (const { typed_extension_protocol_options: options } of clusters) {
      const { idle_timeout } = options[HTTP].common_http_protocol_options
      expect(secondsOf(idle_timeout) * 1000).toBeLessThan(KEEP_ALIVE_MS)
    }
  })

  test('repeats no request that a process may have begun', () => {
    for (const { retry_policy } of routes) {
      expect(retry_policy).toEqual({ retry_on: 'connect-failure,refused-stream', num_retries: 1 })
    }
  })

  test('asks each process over both protocols, and a draining one is out before it closes its port', () => {
    const graceMs = VARIABLES.drainGraceMs.default!({ production: true } as never)
    for (const { health_checks } of clusters) {
      const [rest, grpc] = health_checks
      expect([health_checks.length, rest.http_health_check, grpc.grpc_health_check]).toEqual([
        2,
        { path: '/readyz' },
        {},
      ])
      for (const { interval, no_traffic_interval, unhealthy_threshold } of health_checks) {
        expect(no_traffic_interval).toBe(interval)
        expect(secondsOf(interval) * unhealthy_threshold * 1000).toBeLessThan(graceMs)
      }
    }
  })
})
