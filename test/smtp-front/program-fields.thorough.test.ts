import fc from 'fast-check'
import { expect, test } from 'vitest'
import { shownServiceField } from '../../mail/mime/raw/service-fields.ts'
import { NO_FIELDS, type ProgramFields, readProgramFields } from '../../server/smtp-front/program-fields.ts'
import { letter, startFrontWorld } from './world.ts'

const { api, send } = await startFrontWorld()
const { exchanger } = api.world

const fieldOf = (name: string, value: string) => ({ name: name.toLowerCase(), value, start: 0, end: 0 })
const read = (...fields: [name: string, value: string][]) => readProgramFields(fields.map((one) => fieldOf(...one)))

const text = fc.stringMatching(/^[a-zA-Zäß€ ]{0,10}[a-zA-Zäß€]$/).map((value) => value.trim())
/** As libraries write a text: an encoded word where it is not ASCII, or always. */
const wordOf = (value: string) => `=?utf-8?B?${Buffer.from(value).toString('base64')}?=`
const key = fc.stringMatching(/^[a-z0-9_.-]{1,40}$/).filter((one) => one !== '__proto__')

/** What a program can ask for, with each member or without it. A new member fails to compile here. */
const asked: fc.Arbitrary<ProgramFields> = fc.record({
  idempotencyKey: fc.option(fc.stringMatching(/^[!-~]{1,256}$/), { nil: undefined }),
  sandbox: fc.boolean(),
  tag: fc.option(text, { nil: undefined }),
  tenantId: fc.option(text, { nil: undefined }),
  metadata: fc.dictionary(key, text, { maxKeys: 20, noNullPrototype: true }),
} satisfies { [Name in keyof Required<ProgramFields>]: unknown })

/** The fields of a header that ask for it. */
function fieldsFor(
  { idempotencyKey, sandbox, tag, tenantId, metadata }: ProgramFields,
  write: (value: string) => string,
): [string, string][] {
  const pairs: [string, string | undefined][] = [
    ['Idempotency-Key', idempotencyKey],
    ['X-Service-Sandbox', sandbox ? 'TRUE' : undefined],
    ['X-Service-Tag', tag && write(tag)],
    ['X-Service-Tenant', tenantId && write(tenantId)],
    ...Object.entries(metadata).map(([name, value]): [string, string] => [`X-Service-Metadata-${name}`, write(value)]),
  ]
  return pairs.filter((pair): pair is [string, string] => pair[1] !== undefined)
}

test('what a program asks for is read, in any order and any case, beside fields of its own', () => {
  fc.assert(
    fc.property(asked, fc.boolean(), fc.boolean(), fc.boolean(), (wanted, isEncoded, isUpper, isLast) => {
      const fields = fieldsFor(wanted, isEncoded ? wordOf : (value) => value)
      const cased = fields.map(([name, value]): [string, string] => [isUpper ? name.toUpperCase() : name, value])
      const all: [string, string][] = [['X-Service-Other', 'stays'], ['Subject', 'Hi'], ...cased]
      expect(read(...(isLast ? all : all.toReversed()))).toEqual(wanted)
    }),
  )
  expect(read(['Subject', 'Hi'])).toEqual({ ...NO_FIELDS, idempotencyKey: undefined })
})

test('a faulty value, a second one and a name one letter off are refused by their name, whatever else is there', () => {
  const faulty = fc.oneof(
    fc.tuple(
      fc.constant('X-Service-Sandbox'),
      text.filter((value) => !/^(?:true|false)$/i.test(value)),
    ),
    fc.tuple(
      fc.constantFrom('X-Service-Tag', 'X-Service-Tenant'),
      fc.constantFrom('', 'a'.repeat(129), wordOf('a\nb'), wordOf('\u202e')),
    ),
    fc.tuple(
      key.map((name) => `X-Service-Metadata-${name}`),
      fc.constantFrom('a'.repeat(501), wordOf('a\nb')),
    ),
    fc.constantFrom(
      ['X-Service-Metadata-', 'a'],
      [`X-Service-Metadata-${'k'.repeat(41)}`, 'a'],
      ['X-Service-Metadata-a/b', 'a'],
      ['X-Service-Sandbx', 'true'],
      ['X-Service-Sandboxx', 'true'],
      ['X-Service-Tog', 'a'],
      ['X-Service-Metadata', 'a'],
      ['X-Service-Metadata_order', 'a'],
    ),
  ) as fc.Arbitrary<[string, string]>
  fc.assert(
    fc.property(asked, faulty, (wanted, [name, value]) => {
      const others = fieldsFor(wanted, (one) => one).filter(([other]) => other.toLowerCase() !== name.toLowerCase())
      const shown = shownServiceField(name.toLowerCase())
      expect(() => read(...others, [name, value])).toThrow(`${shown} `)
    }),
  )
  expect(() => read(['X-Service-Tag', 'a'], ['x-service-tag', 'a'])).toThrow('X-Service-Tag is given twice')
})

test('metadata has 20 pairs and 4 KiB at most', () => {
  const pairs = (many: number, value: string) =>
    Array.from({ length: many }, (_, i): [string, string] => [`X-Service-Metadata-${i}`, value])
  expect(() => read(...pairs(21, 'a'))).toThrow('X-Service-Metadata- holds 21 pairs')
  expect(() => read(...pairs(20, 'a'.repeat(400)))).toThrow('X-Service-Metadata- has')
  expect(Object.keys(read(...pairs(20, 'a')).metadata)).toHaveLength(20)
})

test('the message has its tag, tenant and metadata, and its mail has no such field', async () => {
  const fields = [
    ...['X-Service-Tag: receipts', 'X-Service-Tenant: =?utf-8?Q?caf=C3=A9?=', 'X-Service-Metadata-Order: 1234'],
    'X-Service-Other: stays',
  ]
  const content = fields.map((field) => `${field}\r\n`).join('') + letter()
  const [, id] = /(msg_\w+)/.exec(await send({ to: 'ann@example.net', content }))!
  const { json } = await api.call('GET', `/api/v1/emails/${id}`)
  expect(json).toMatchObject({ tag: 'receipts', tenant_id: 'café', metadata: { order: '1234' } })
  const [mail] = exchanger.messages.map((message) => message.content.toString())
  expect(mail).not.toMatch(/^X-Service-(?!Other: stays)/im)
  expect(mail).toContain('X-Service-Other: stays')
})

test('a dry run is one by its key or its header, and no header makes a test key live', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.boolean(),
      fc.constantFrom('true', 'True', 'false', 'FALSE', undefined),
      async (isTest, value) => {
        exchanger.messages.length = 0
        const content = `${value === undefined ? '' : `X-Service-Sandbox: ${value}\r\n`}${letter()}`
        const reply = await send({ to: 'ann@example.net', content, key: isTest ? api.keys.test : api.keys.live })
        const isDry = isTest || value?.toLowerCase() === 'true'
        expect(reply.includes('dry run, nothing was sent')).toBe(isDry)
        expect(exchanger.messages).toHaveLength(isDry ? 0 : 1)
      },
    ),
    { numRuns: 12 },
  )
  expect(await send({ to: 'ann@example.net', content: `X-Service-Sandbox: yes\r\n${letter()}` })).toBe(
    '550 5.6.0 X-Service-Sandbox must be true or false.',
  )
})
