import { expect, test, vi } from 'vitest'
import { createResolver } from '../../../mail/dns/resolver.ts'
import { dnsOfFile } from './servers.ts'

vi.setConfig({ maxConcurrency: 16 })

const dnsWith = dnsOfFile()

test.concurrent('the cache is bounded', async () => {
  const { dns, options } = await dnsWith({ '*': 'nodata' })
  const resolver = createResolver({ servers: [dns.address], ...options, queryTimeoutMs: 5_000 })
  for (let i = 0; i < 10_000; i += 200)
    await Promise.all(Array.from({ length: 200 }, (_, j) => resolver.a(`n${i + j}.test`)))
  await resolver.a('n0.test')
  expect(dns.queries.length).toBe(10_000)
  await resolver.a('one-more.test')
  await resolver.a('n0.test')
  expect(dns.queries.length).toBe(10_002)
})
