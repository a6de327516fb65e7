import { expect, test } from 'vitest'
import { DOMAIN_STATES, RECORD_STATES, relativeHost } from '../../dashboard/domains/domain-states.ts'
import { DomainStatusSchema, RecordStatusSchema } from '../../gen/verdict/v1/domains_pb.ts'

test.each([
  ['example.com', '@'],
  ['rp.example.com', 'rp'],
  ['v1._domainkey.example.com', 'v1._domainkey'],
  ['badexample.com', undefined],
])('the host %s is shown without the domain as %s', (host, relative) => {
  expect(relativeHost(host, 'example.com')).toBe(relative)
})

test('every state of a domain and of a record has its words', () => {
  for (const { number } of DomainStatusSchema.values) expect(DOMAIN_STATES).toHaveProperty(String(number))
  for (const { number } of RecordStatusSchema.values) expect(RECORD_STATES).toHaveProperty(String(number))
})
