import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { parseAddress, parseMailbox } from '../../server/address.ts'
import { buildMessage } from '../../server/mime/builder.ts'

const NAMES = [
  'invoice.pdf',
  'über ümlaut.txt',
  'Rechnung März 2026 – Größe "M".pdf',
  '請求書.pdf',
  '👩‍💻 notes.md',
  `${'語'.repeat(80)}.pdf`,
  '100 % *sure*.txt',
]

const READ_NAMES = `
import email, email.policy, json, sys
octets = sys.stdin.buffer.read()
policies = (email.policy.default, email.policy.SMTP, email.policy.compat32)
print(json.dumps([
  [part.get_filename() for part in email.message_from_bytes(octets, policy=policy).walk() if part.get_filename() is not None]
  for policy in policies
]))
`

test("Python's email package reads the name of every attachment", () => {
  const message = buildMessage({
    messageId: 'msg_1@rp.shop.example',
    date: new Date('2026-01-02T03:04:05Z'),
    from: parseMailbox('hello@shop.example')!,
    to: [parseAddress('ann@example.net')!],
    subject: 'Files',
    text: 'Files',
    headers: [],
    attachments: NAMES.map((filename) => ({ filename, content: Buffer.from('x') })),
    boundarySeed: 'msg_1',
  })
  const output = execFileSync('/usr/bin/python3', ['-c', READ_NAMES], {
    input: Buffer.concat(message),
    encoding: 'utf8',
  })
  for (const names of JSON.parse(output)) expect(names).toEqual(NAMES)
})
