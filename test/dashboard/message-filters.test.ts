import { expect, test } from 'vitest'
import { readFilters } from '../../dashboard/lists/read-filters.ts'
import {
  DOUBTFUL,
  MESSAGE_FILTERS,
  MESSAGE_PARAMETERS,
  messagesRequest,
} from '../../dashboard/messages/message-filters.ts'
import { DeliveryStatus, Reason } from '../../gen/verdict/v1/outcomes_pb.ts'

test('the address of the page becomes the request', () => {
  const request = messagesRequest({
    recipient: 'ann@example.com',
    status: 'bounced',
    reason: 'mailbox_full',
    domain: 'example.com',
    tag: 'orders',
    tenant: 'shop-7',
    from: '2026-01-31',
    to: '2026-02-01T12:00:00.500Z',
    sandbox: 'false',
    subject: 'order 4102',
    metadata: 'a.b=c=d',
  })
  expect(request).toMatchObject({
    recipient: 'ann@example.com',
    status: DeliveryStatus.BOUNCED,
    reason: Reason.MAILBOX_FULL,
    domain: 'example.com',
    tag: 'orders',
    tenantId: 'shop-7',
    sandbox: false,
    subject: 'order 4102',
    metadata: { 'a.b': 'c=d' },
    from: { seconds: BigInt(Date.UTC(2026, 0, 31) / 1000), nanos: 0 },
    to: { seconds: BigInt(Date.UTC(2026, 1, 1, 12) / 1000), nanos: 500_000_000 },
  })
})

test('in doubt is a filter of its own, which a person finds among the statuses', () => {
  expect(messagesRequest(DOUBTFUL)).toMatchObject({ inDoubt: true, status: undefined })
  expect(readFilters(MESSAGE_FILTERS, { ...DOUBTFUL })).toEqual(DOUBTFUL)
  expect(messagesRequest({ status: 'bounced' })).toMatchObject({ inDoubt: undefined, status: DeliveryStatus.BOUNCED })
})

test('an address without filters asks for everything', () => {
  expect(Object.values(messagesRequest({})).every((value) => value === undefined)).toBe(true)
})

test('what is no value of a filter is left out, and said', () => {
  const search = {
    status: 'lost',
    reason: 'unspecified',
    from: 'yesterday',
    sandbox: 'maybe',
    metadata: 'order',
    tag: '',
    to: 7,
    other: 'x',
    range: '2y',
    columns: 'from;tag',
  }
  const read = readFilters(MESSAGE_PARAMETERS, search)
  const unknown = 'status=lost&reason=unspecified&metadata=order&sandbox=maybe&range=2y&from=yesterday&columns=from;tag'
  expect(Object.keys(read)).toEqual(['unknown'])
  expect(read.unknown!.split('&').sort()).toEqual(unknown.split('&').sort())
  // The page's own address has it then, until the chip is removed.
  expect(readFilters(MESSAGE_PARAMETERS, read)).toEqual(read)
  expect(readFilters(MESSAGE_PARAMETERS, { status: 'bounced', reason: 'spam_blocked', to: '2026-01-31' })).toEqual({
    status: 'bounced',
    reason: 'spam_blocked',
    to: '2026-01-31',
  })
})
