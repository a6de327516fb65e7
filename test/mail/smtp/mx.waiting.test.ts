import { expect, test } from 'vitest'
import { createResolver } from '../../../mail/dns/resolver.ts'
import { createMxLookUp } from '../../../mail/smtp/mx.ts'
import { startDns } from '../../harness/dns.ts'

test.concurrent.each(['silence', 'garbage'] as const)('%s instead of the MX is a fault of ours', async (fault) => {
  const dns = await startDns({ 'MX example.test': fault })
  const resolver = createResolver({ servers: [dns.address], queryTimeoutMs: 1_500 })
  const policyOf = async () => undefined
  const options = { resolver, mayDial: () => true, smtpPort: 25, routes: new Map(), policyOf, random: Math.random }
  const lookUp = createMxLookUp(options)
  expect((await lookUp('example.test')).kind).toBe('our_fault')
  await dns.close()
})
