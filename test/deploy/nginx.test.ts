import { expect, test } from 'vitest'
import { longestCallMs, REQUEST_LIMITS } from '../../server/config/limits.ts'
import { VARIABLES } from '../../server/config/variables.ts'
import { KEEP_ALIVE_MS } from '../../server/http/listener/http1.ts'
import { read } from './environment.ts'

const server = read('deploy/nginx/verdict.conf')
const numbers = (text: string, directive: string, unit: string) =>
  [...text.matchAll(new RegExp(`^\\s*${directive} (\\d+)${unit};`, 'gm'))].map(([, number]) => Number(number))

test('nginx waits longer than the longest call takes', () => {
  const longest = longestCallMs(VARIABLES.sendBudgetMs.default!({} as never)) / 1000
  for (const directive of ['proxy_read_timeout', 'grpc_read_timeout']) {
    const [seconds] = numbers(server, directive, 's')
    expect(seconds).toBeGreaterThan(longest)
  }
})

test('nginx lets a body through that the API refuses itself', () => {
  const [megabytes] = numbers(server, 'client_max_body_size', 'm')
  expect(megabytes! * 2 ** 20).toBeGreaterThan(REQUEST_LIMITS.bytes)
})

test.each([
  ['nginx/upstream.conf', 2],
  ['cells/nginx.conf', 4],
])('nginx closes an idle connection before the API does: %s', (file, upstreams) => {
  const seconds = numbers(read(`deploy/${file}`), 'keepalive_timeout', 's')
  expect(seconds).toHaveLength(upstreams)
  for (const each of seconds) expect(each * 1000).toBeLessThan(KEEP_ALIVE_MS)
})

test('nginx repeats no POST that it has sent', () => {
  expect(server).toMatch(/^ {4}proxy_next_upstream error;$/m)
  expect(server).toMatch(/^ {4}grpc_next_upstream error;$/m)
})
