import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { expect, test } from 'vitest'
import { commandOfSend } from '../../dashboard/messages/send-command.ts'
import { GetEmailResponseSchema } from '../../gen/verdict/v1/emails_pb.ts'
import { DeliveryStatus } from '../../gen/verdict/v1/outcomes_pb.ts'

type Email = MessageInitShape<typeof GetEmailResponseSchema>

const sent = (email: Email) =>
  commandOfSend(
    create(GetEmailResponseSchema, { from: 'a@example.com', to: ['b@example.com'], ...email }),
    'https://x.test',
  )

/** The body that a shell hands to curl. */
function bodyOf(email: Email): unknown {
  const [, quoted] = sent(email).command.split('-d ')
  const text = quoted!.slice(1, -1).replaceAll("'\\''", "'")
  return JSON.parse(text)
}

test('the command repeats the send with all that is stored', () => {
  const email: Email = {
    cc: ['c@example.com'],
    replyTo: '"Help, fast" <help@example.com>, d@example.com',
    subject: 'Hello',
    headers: { 'X-Campaign': 'november' },
    tenantId: 'shop-7',
    tag: 'orders',
    metadata: { order: '4711' },
    html: '<p>Hello</p>',
  }
  expect(bodyOf(email)).toEqual({
    from: 'a@example.com',
    to: ['b@example.com'],
    cc: ['c@example.com'],
    reply_to: ['"Help, fast" <help@example.com>', 'd@example.com'],
    subject: 'Hello',
    headers: { 'X-Campaign': 'november' },
    tenant_id: 'shop-7',
    tag: 'orders',
    metadata: { order: '4711' },
    html: '<p>Hello</p>',
  })
  expect(sent(email).missing).toEqual([])
})

test('the command says what it does not have', () => {
  const { missing } = sent({ attachments: [{ filename: 'invoice.pdf' }] })
  expect(missing).toEqual([
    'html and text: their content is not stored',
    'attachment invoice.pdf: the content of files is not stored',
  ])
})

const ID = 'msg_01jx3c7w5fe9c8m0t1q2r3s4v5'
const outcomes = (retryable: string[], others: string[] = []) => [
  ...retryable.map((email) => ({ email, status: DeliveryStatus.BOUNCED, retryable: true })),
  ...others.map((email) => ({ email, status: DeliveryStatus.DELIVERED })),
]

test('the command retries the recipients that were refused for now, and no others', () => {
  const email: Email = {
    messageId: ID,
    to: ['Ann <ann@example.com>', 'bob@example.com', 'Joann <joann@example.com>'],
    cc: ['cy@example.com', 'dan@example.com'],
    bcc: ['eve@example.com'],
    recipients: outcomes(
      ['ann@example.com', 'dan@example.com', 'eve@example.com'],
      ['bob@example.com', 'joann@example.com', 'cy@example.com'],
    ),
  }
  expect(bodyOf(email)).toMatchObject({
    to: ['Ann <ann@example.com>'],
    cc: ['dan@example.com'],
    bcc: ['eve@example.com'],
    retry_of: ID,
  })
  const recipients = ['ann@example.com', 'dan@example.com', 'eve@example.com']
  expect(sent(email)).toMatchObject({ recipients, isRetry: true })
})

test('a retry of cc alone puts them into to, and one of bcc alone shows no address to another recipient', () => {
  const [to, cc, bcc] = [['b@example.com'], ['cy@example.com'], ['eve@example.com', 'fay@example.com']]
  const ofCc = { to, cc, bcc, messageId: ID, recipients: outcomes([...cc, ...bcc], to) }
  expect(bodyOf(ofCc)).toMatchObject({ to: cc, bcc, retry_of: ID })
  expect(bodyOf(ofCc)).not.toHaveProperty('cc')
  const ofBcc = { to, cc, bcc, messageId: ID, recipients: outcomes(bcc, [...to, ...cc]), text: 'Hi' }
  expect(bodyOf(ofBcc)).toMatchObject({ to: ['eve@example.com'], retry_of: ID })
  expect(bodyOf(ofBcc)).not.toHaveProperty('bcc')
  expect(sent(ofBcc).missing).toEqual(['fay@example.com: a bcc recipient needs a message of its own'])
})

test('a message of which nothing can be retried, or whose 7 days are over, is sent anew', () => {
  const [ann] = ['ann@example.com']
  const anew = { messageId: ID, to: [ann], retryOf: ID, recipients: outcomes([], [ann]) }
  expect(bodyOf(anew)).not.toHaveProperty('retry_of')
  expect(sent(anew)).toMatchObject({ recipients: [ann], isRetry: false })
  const DAY_MS = 86_400_000
  const old = { ...anew, recipients: outcomes([ann]), createdAt: timestampFromMs(Date.now() - 8 * DAY_MS) }
  expect(bodyOf(old)).not.toHaveProperty('retry_of')
  expect(bodyOf({ ...old, createdAt: timestampFromMs(Date.now() - 6 * DAY_MS) })).toHaveProperty('retry_of', ID)
})

test('a message that some got is sent anew to those who did not, and never to one in doubt', () => {
  const { BOUNCED, DELIVERED, REJECTED } = DeliveryStatus
  const recipients = [
    { email: 'ann@example.com', status: DELIVERED },
    { email: 'bob@example.com', status: BOUNCED },
    { email: 'cy@example.com', status: BOUNCED, inDoubt: true },
    { email: 'dan@example.com', status: REJECTED },
  ]
  const email: Email = {
    messageId: ID,
    to: ['Ann <ann@example.com>', 'bob@example.com'],
    cc: ['cy@example.com', 'dan@example.com'],
    recipients,
  }
  expect(bodyOf(email)).toMatchObject({ to: ['bob@example.com'], cc: ['dan@example.com'] })
  expect(bodyOf(email)).not.toHaveProperty('retry_of')
  expect(sent(email)).toMatchObject({ recipients: ['bob@example.com', 'dan@example.com'], isRetry: false })
})

test('a raw message is not stored: the command names its recipients and asks for it', () => {
  const email: Email = { raw: true, subject: 'Hello', attachments: [{ filename: 'a.pdf' }], text: 'Hi' }
  expect(bodyOf(email)).toEqual({ from: 'a@example.com', to: ['b@example.com'], raw: '<your message as base64>' })
  expect(sent(email).missing).toEqual(['raw: the message that your software built is not stored'])
})

test('a dry run is repeated as a dry run', () => {
  expect(sent({ sandbox: true }).command).toContain("-H 'X-Service-Sandbox: true'")
  expect(sent({}).command).not.toContain('Sandbox')
})

test('no text of a message leaves its quotes or hides in a terminal', () => {
  const hostile = "'; rm -rf / #`$(id)` \u202egnihtemos\u0007\u2028"
  expect(sent({ subject: hostile }).command).toMatch(/^[\n -~]*$/)
  // In a POSIX shell a single quote ends the text; outside of the quotes there is only an escaped quote.
  expect(sent({ subject: hostile }).command.split('-d ')[1]).toMatch(/^'[^']*'(?:\\''[^']*')*$/)
  expect(bodyOf({ subject: hostile })).toMatchObject({ subject: hostile })
  const everything = String.fromCharCode(...Array.from({ length: 0x3000 }, (_, code) => code))
  expect(bodyOf({ text: everything })).toMatchObject({ text: everything })
})
