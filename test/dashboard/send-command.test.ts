import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { expect, test } from 'vitest'
import { sendCommand } from '../../dashboard/messages/send-command.ts'
import { GetEmailResponseSchema } from '../../gen/verdict/v1/emails_pb.ts'

type Email = MessageInitShape<typeof GetEmailResponseSchema>

const sent = (email: Email) =>
  sendCommand(
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
