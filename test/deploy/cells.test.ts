import { expect, test } from 'vitest'
import { isCellName } from '../../server/access/api-key.ts'
import { longestCallMs } from '../../server/config/limits.ts'
import { VARIABLES } from '../../server/config/variables.ts'
import { KEEP_ALIVE_MS } from '../../server/http/listener/http1.ts'
import { read } from './environment.ts'

const nginx = read('deploy/cells/nginx.conf')
const envoy = read('deploy/cells/envoy.yaml')

test('both proxies route by a name that a cell can have', () => {
  for (const text of [nginx, envoy]) {
    const [, name] = /svc_\(live\|test\)_(\w+)/.exec(text) ?? []
    expect(isCellName(name!)).toBe(true)
  }
})

test('Envoy waits longer than the longest call takes, and closes an idle connection before the API does', () => {
  const waits = [...envoy.matchAll(/timeout: 0s[,\s]+idle_timeout: (\d+)s/g)].map(([, seconds]) => Number(seconds))
  expect(waits).toHaveLength(2)
  const longest = longestCallMs(VARIABLES.sendBudgetMs.default!({} as never)) / 1000
  for (const seconds of waits) expect(seconds).toBeGreaterThan(longest)
  const [, idle] = /common_http_protocol_options: \{ idle_timeout: (\d+)s \}/.exec(envoy)!
  expect(Number(idle) * 1000).toBeLessThan(KEEP_ALIVE_MS)
})

test('Envoy repeats no request that a process may have begun', () => {
  const policies = [...envoy.matchAll(/retry_policy: (.+?)(?: \})?$/gm)].map(([, policy]) => policy)
  expect(policies).toEqual(['&retry { retry_on: "connect-failure,refused-stream", num_retries: 1', '*retry'])
})

test('nginx closes an idle connection before the API does', () => {
  const idle = [...nginx.matchAll(/keepalive_timeout (\d+)s;/g)].map(([, seconds]) => Number(seconds))
  expect(idle).toHaveLength(4)
  for (const seconds of idle) expect(seconds * 1000).toBeLessThan(KEEP_ALIVE_MS)
})
