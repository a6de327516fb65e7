import { expect, test } from 'vitest'
import { isCellName } from '../../server/access/api-key.ts'
import { read } from './environment.ts'

const nginx = read('deploy/cells/nginx.conf')
const envoy = read('deploy/cells/envoy.yaml')

test('both proxies route by a name that a cell can have', () => {
  for (const text of [nginx, envoy]) {
    const [, name] = /svc_\(live\|test\)_(\w+)/.exec(text) ?? []
    expect(isCellName(name!)).toBe(true)
  }
})
