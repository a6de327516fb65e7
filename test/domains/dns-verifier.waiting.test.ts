import { expect, test } from 'vitest'
import { domainOf, startVerifier, zoneOf } from './verifying.ts'

test.concurrent.each(['silence', 'garbage'] as const)(
  'a DNS that answers with %s leaves every record pending with the reason, and never counts as missing',
  async (fault) => {
    const domain = domainOf('shop.example.com')
    const zone = Object.fromEntries(Object.keys(zoneOf(domain)).map((name) => [name, fault]))
    const { dns, check } = await startVerifier(zone)
    for (const { status, error } of Object.values(await check(domain))) {
      expect([status, error]).toEqual(['pending', expect.stringMatching(/did not answer \(.+\)/)])
    }
    await dns.close()
  },
)
