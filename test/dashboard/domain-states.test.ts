import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { expect, test } from 'vitest'
import {
  DOMAIN_STATES,
  isLocal,
  namesInZones,
  RECORD_STATES,
  stateOfRecord,
} from '../../dashboard/domains/domain-states.ts'
import {
  DomainRecordSchema,
  DomainStatus,
  DomainStatusSchema,
  RecordStatus,
  RecordStatusSchema,
} from '../../gen/verdict/v1/domains_pb.ts'

test.each([
  ['example.com', 'example.com', ['@']],
  ['rp.example.com', 'example.com', ['rp']],
  ['v1._domainkey.example.com', 'example.com', ['v1._domainkey']],
  ['badexample.com', 'example.com', []],
  ['mail.acme.com', 'mail.acme.com', ['@', 'mail']],
  ['rp.mail.acme.com', 'mail.acme.com', ['rp', 'rp.mail']],
  ['_dmarc.acme.com', 'mail.acme.com', ['_dmarc']],
  ['rp.acme.co.uk', 'acme.co.uk', ['rp']],
  ['rp.mail.acme.co.uk', 'mail.acme.co.uk', ['rp', 'rp.mail']],
])('the host %s of the domain %s is named in its zones as %j', (host, domain, names) => {
  expect(namesInZones(host, domain).map(({ name }) => name)).toEqual(names)
})

test.each([
  ['v=spf1 ip4:127.0.0.1 ~all', true],
  ['v=spf1 ip4:192.168.1.20 ip4:203.0.113.7 ~all', true],
  ['v=spf1 ip4:172.31.0.1 ~all', true],
  ['v=spf1 ip6:::1 ~all', true],
  ['v=spf1 ip6:fd12:3456::1 ~all', true],
  ['bounces.localhost', true],
  ['v=spf1 ip4:203.0.113.10 ~all', false],
  ['v=spf1 ip4:110.1.2.3 ip4:172.32.0.1 ip6:2001:db8::1 ~all', false],
  ['v=DMARC1; p=none', false],
])('the value %s is of this machine or a private network: %s', (value, expected) => {
  expect(isLocal([{ value }])).toBe(expected)
})

test('every state of a domain and of a record has its words', () => {
  for (const { number } of DomainStatusSchema.values) expect(DOMAIN_STATES).toHaveProperty(String(number))
  for (const { number } of RecordStatusSchema.values) expect(RECORD_STATES).toHaveProperty(String(number))
})

function shown(status: DomainStatus, observed: string[], { isChecked = true } = {}) {
  const lastCheckedAt = isChecked ? timestampFromMs(Date.UTC(2026, 0, 1)) : undefined
  const records = [create(DomainRecordSchema, { status: RecordStatus.FAILED, observed, lastCheckedAt })]
  return stateOfRecord(records[0]!, { status, records }).word
}

test('a record that a new domain does not have yet is no fault; a wrong one is, and one that has gone', () => {
  expect(shown(DomainStatus.PENDING, [])).toBe('Not there yet')
  expect(shown(DomainStatus.PENDING, ['v=spf1 -all'])).toBe('Missing or wrong')
  expect(shown(DomainStatus.VERIFIED, [])).toBe('Missing or wrong')
})

test('a domain that the operator vouches for needs no record', () => {
  expect(shown(DomainStatus.VERIFIED, [], { isChecked: false })).toBe('Not needed')
  expect(shown(DomainStatus.PENDING, [], { isChecked: false })).toBe('Not there yet')
})
