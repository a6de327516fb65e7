import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { parseAddress, parseMailbox } from '../../mail/address.ts'
import { buildMessage, type MimeMessage } from '../../mail/mime/builder.ts'

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

/** What a Python program prints, as JSON, about a message on its standard input. */
function readBy(program: string, changes: Partial<MimeMessage>) {
  const message = buildMessage({
    messageId: 'msg_1@rp.shop.example',
    date: new Date('2026-01-02T03:04:05Z'),
    from: parseMailbox('hello@shop.example')!,
    to: [parseAddress('ann@example.net')!],
    subject: 'Files',
    headers: [],
    attachments: [],
    boundarySeed: 'msg_1',
    ...changes,
  })
  const input = Buffer.concat(message)
  return JSON.parse(execFileSync('/usr/bin/python3', ['-c', program], { input, encoding: 'utf8' }))
}

test("Python's email package reads the name of every attachment", () => {
  const attachments = NAMES.map((filename) => ({ filename, content: Buffer.from('x') }))
  for (const names of readBy(READ_NAMES, { text: 'Files', attachments })) expect(names).toEqual(NAMES)
})

/** Shows the message as a reader does: the html with its images in place, and the list of its attachments. */
const SHOW = `
import base64, email, email.policy, json, re, sys
message = email.message_from_bytes(sys.stdin.buffer.read(), policy=email.policy.default)
body = message.get_body(('related', 'html'))
parts = {part['content-id'].strip('<>'): part for part in body.iter_attachments()} if body.get_content_subtype() == 'related' else {}
def image(match):
  part = parts[match.group(1)]
  return 'data:' + part.get_content_type() + ',' + part.get_content().decode('ascii')
html = re.sub('cid:([^"]+)', image, message.get_body(('html',)).get_content().rstrip())
text = message.get_body(('plain',))
files = [part for part in message.iter_attachments() if not part.is_multipart()] if message.get_content_subtype() == 'mixed' else []
print(json.dumps({
  'defects': [str(defect) for part in message.walk() for defect in part.defects],
  'html': html,
  'text': text and text.get_content().rstrip(),
  'inline': [[part.get_filename(), part.get_content_disposition()] for part in parts.values()],
  'files': [[part.get_filename(), part.get_content_disposition(), part.get_content_type()] for part in files],
}))
`

const HTML = '<img src="cid:logo@shop"><img src="cid:second+1">'
const INLINE = [
  { filename: 'logo.png', content: Buffer.from('one'), contentId: 'logo@shop' },
  { filename: '写真.bin', content: Buffer.from('two'), contentId: 'second+1', contentType: 'image/webp' },
]
const ATTACHED = { filename: 'terms.pdf', content: Buffer.from('%PDF'), contentType: 'application/x-terms' }

test.each([
  ['html and text with a file attached', 'Hello', [ATTACHED]],
  ['html and text', 'Hello', []],
  ['html with a file attached', undefined, [ATTACHED]],
  ['html alone', undefined, []],
])("Python's email package shows the inline images of %s", (_, text, attached) => {
  const attachments = [...attached, ...INLINE]
  expect(readBy(SHOW, { html: HTML, text, attachments })).toEqual({
    defects: [],
    html: '<img src="data:image/png,one"><img src="data:image/webp,two">',
    text: text ?? null,
    inline: INLINE.map(({ filename }) => [filename, 'inline']),
    files: attached.map(() => ['terms.pdf', 'attachment', 'application/x-terms']),
  })
})
