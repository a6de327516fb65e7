import { create, type MessageInitShape } from '@bufbuild/protobuf'
import type { ConnectError } from '@connectrpc/connect'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BadRequestSchema } from '../../gen/google/rpc/error_details_pb.ts'
import { SendRequestSchema } from '../../gen/verdict/v1/emails_pb.ts'
import { reasonOf } from '../../server/errors.ts'
import { type Message, readSendRequest } from '../../server/sending/message.ts'

type Change = Omit<MessageInitShape<typeof SendRequestSchema>, '$typeName'>

const read = (change: Change) =>
  readSendRequest(create(SendRequestSchema, { from: 'hello@example.test', subject: 'Hello', text: 'Hi', ...change }))

function refused(change: Change): [reason: string | undefined, ...fields: string[]] {
  try {
    read(change)
  } catch (error) {
    const fields = (error as ConnectError).findDetails(BadRequestSchema).flatMap((detail) => detail.fieldViolations)
    return [reasonOf(error), ...fields.map(({ field }) => field)]
  }
  throw new Error('was not refused')
}

const emailsOf = ({ recipients }: Message) => recipients.map(({ address, kind }) => `${kind} ${address.address}`)
const users = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => `user${from + i}@example.net`)

test('each recipient is of the first of to, cc and bcc that gave it', () => {
  const message = read({
    to: ['Ann <ann@example.net>', 'bob@example.net'],
    cc: ['bob@EXAMPLE.net', 'Cid <cid@example.net>'],
    bcc: ['ann@example.net', '<cid@example.net>', 'dee@example.net'],
  })
  expect(emailsOf(message)).toEqual([
    'to ann@example.net',
    'to bob@example.net',
    'cc cid@example.net',
    'bcc dee@example.net',
  ])
})

test('a field keeps an address that counted in an earlier field, and names an address once', () => {
  const message = read({
    to: ['Ann <ann@example.net>', 'ann@Example.NET'],
    cc: ['"Lee, Ann" <ann@example.net>', '<ann@example.net>'],
  })
  expect(message.to.map(({ name }) => name)).toEqual(['Ann'])
  expect(message.cc.map(({ name }) => name)).toEqual(['Lee, Ann'])
  expect(message.recipients).toHaveLength(1)
})

test('local parts are compared exactly, domains without case and as A-labels', () => {
  const to = ['ann@bücher.example', 'ann@XN--BCHER-KVA.example', 'Ann@bücher.example', '"ann"@bücher.example']
  expect(emailsOf(read({ to }))).toEqual(['to ann@xn--bcher-kva.example', 'to Ann@xn--bcher-kva.example'])
})

test('<ann@example.com> is an address without a name, and so is one whose name is empty', () => {
  for (const to of ['<ann@example.com>', '"" <ann@example.com>', ' <ann@example.com>']) {
    const [mailbox] = read({ to: [to] }).to
    expect([mailbox!.address, mailbox!.name]).toEqual(['ann@example.com', undefined])
  }
})

test('cc and bcc do not replace to', () => {
  expect(refused({ cc: ['ann@example.net'], bcc: ['bob@example.net'] })).toEqual(['invalid_payload', 'to'])
})

test.each<[string, Change, string]>([
  ['51 in to', { to: users(0, 51) }, 'to'],
  ['50 in to and one in cc', { to: users(0, 50), cc: users(50, 51) }, 'cc'],
  ['51 over three fields', { to: users(0, 20), cc: users(20, 40), bcc: users(40, 51) }, 'bcc'],
  ['51 over two fields, of which bcc only repeats', { to: users(0, 30), cc: users(29, 51), bcc: users(0, 5) }, 'cc'],
])('at most 50 distinct addresses together: %s is refused on the field that goes over', (_, change, field) => {
  expect(refused(change)).toEqual(['invalid_payload', field])
})

test('the refusal of too many recipients says how many there are', () => {
  expect(() => read({ to: users(0, 60), cc: users(60, 73) })).toThrow('they hold 73 entries')
})

test('50 distinct addresses pass, however often they are repeated', () => {
  const message = read({ to: users(0, 50), cc: users(0, 50), bcc: [...users(0, 50), ...users(0, 50)] })
  expect(message.recipients).toHaveLength(50)
  expect([message.to.length, message.cc.length, message.bcc.length]).toEqual([50, 50, 50])
})

test('a response names at most about 50 invalid addresses, however many there are', () => {
  const faults = refused({ to: Array.from({ length: 10_000 }, (_, i) => `user${i}`) })
  expect(faults.slice(0, 2)).toEqual(['invalid_payload', 'to'])
  expect(faults.length).toBeLessThan(60)
})

test('whatever three fields give: every address counts once, and its field is the first that has it', () => {
  const field = fc.array(fc.constantFrom(...users(0, 12), 'Name <user1@example.net>', 'user2@EXAMPLE.NET'), {
    maxLength: 30,
  })
  const fields = fc.record({ to: field.filter((list) => list.length > 0), cc: field, bcc: field })
  fc.assert(
    fc.property(fields, (given) => {
      const { recipients } = read(given)
      const addressOf = (text: string) => text.replace(/^.*<|>$/g, '').toLowerCase()
      const emails = (['to', 'cc', 'bcc'] as const).flatMap((kind) =>
        given[kind].map((text) => ({ kind, email: addressOf(text) })),
      )
      const firsts = emails.filter(({ email }, i) => emails.findIndex((other) => other.email === email) === i)
      expect(recipients.map(({ address, kind }) => ({ kind, email: address.address }))).toEqual(firsts)
    }),
  )
})
