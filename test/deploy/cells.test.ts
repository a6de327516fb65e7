import { expect, test } from 'vitest'
import { isCellName } from '../../server/access/api-key.ts'
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

test('nginx closes an idle connection before the API does', () => {
  const idle = [...nginx.matchAll(/keepalive_timeout (\d+)s;/g)].map(([, seconds]) => Number(seconds))
  expect(idle).toHaveLength(4)
  for (const seconds of idle) expect(seconds * 1000).toBeLessThan(KEEP_ALIVE_MS)
})
