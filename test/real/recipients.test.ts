import { execFileSync } from 'node:child_process'
import { beforeAll, expect, test } from 'vitest'
import { type MailWorld, startMailWorld } from './mail-world.ts'

const MAILBOXES = ['ann', 'bob', 'cid', 'dee']
const USERS = Array.from({ length: 48 }, (_, i) => `user${i}@plain.example.net`)

let world: MailWorld
beforeAll(async () => {
  world = await startMailWorld({
    recipients: 'plain MX 10 mx.plain\nmx.plain A 127.0.0.1',
    postfix: () => ({
      listeners: { '127.0.0.1': {} },
      addresses: Object.fromEntries([
        ...MAILBOXES.map((name) => [`${name}@plain.example.net`, name]),
        ...USERS.map((user) => [user, 'users']),
      ]),
    }),
  })
})

// Python 3.11 shows a space between two encoded words of one name, so the names are also read by its older functions.
const READ_ADDRESSES = `
import email, email.policy, json, sys
from email.header import decode_header, make_header
from email.utils import getaddresses
octets = sys.stdin.buffer.read()
message = email.message_from_bytes(octets, policy=email.policy.default)
older = email.message_from_bytes(octets, policy=email.policy.compat32)
def mailboxes(name):
  return [[str(make_header(decode_header(name))), address] for name, address in getaddresses(older.get_all(name, []))]
print(json.dumps({
  'to': mailboxes('To'), 'cc': mailboxes('Cc'), 'reply_to': mailboxes('Reply-To'), 'bcc': message.get_all('Bcc'),
  'addresses': [a.addr_spec for name in ('To', 'Cc') for field in message.get_all(name, []) for a in field.addresses],
  'defects': [str(d) for name in ('To', 'Cc', 'Reply-To') for field in message.get_all(name, []) for d in field.defects],
}))
`

/** The newest message of a mailbox as Python's `email` package reads it. */
async function readByPython(mailbox: string) {
  const input = await world.postfix.mail(mailbox)
  return {
    file: String(input),
    mail: JSON.parse(execFileSync('/usr/bin/python3', ['-c', READ_ADDRESSES], { input, encoding: 'utf8' })),
  }
}

const SENT = {
  to: ['Ann Lee <ann@plain.example.net>'],
  cc: [
    '"Lee, Bob \\"B\\"" <bob@plain.example.net>',
    'Zoë Ünïcödé 請求書 👋 of the long and winding name <cid@PLAIN.example.net>',
  ],
  bcc: ['Dee Hidden <dee@plain.example.net>', 'ann@plain.example.net'],
  reply_to: ['Кассир <cashier@shop.example.com>', 'help@shop.example.com'],
  metadata: { canary: 'kanarienvogel' },
  tag: 'kanarienvogel',
}

test('every recipient has one copy in its mailbox, and every copy shows To and Cc with their names, and no Bcc', async () => {
  const { body } = await world.product.send(SENT)
  expect(body.recipients.map(({ kind, status }: Record<string, string>) => `${kind} ${status}`)).toEqual([
    'to delivered',
    'cc delivered',
    'cc delivered',
    'bcc delivered',
  ])
  for (const mailbox of MAILBOXES) {
    const { file, mail } = await readByPython(mailbox)
    expect(mail).toEqual({
      to: [['Ann Lee', 'ann@plain.example.net']],
      cc: [
        ['Lee, Bob "B"', 'bob@plain.example.net'],
        ['Zoë Ünïcödé 請求書 👋 of the long and winding name', 'cid@plain.example.net'],
      ],
      reply_to: [
        ['Кассир', 'cashier@shop.example.com'],
        ['', 'help@shop.example.com'],
      ],
      addresses: ['ann', 'bob', 'cid'].map((name) => `${name}@plain.example.net`),
      bcc: null,
      defects: [],
    })
    expect(file).not.toMatch(/hidden|kanarien/i)
    // Postfix writes the envelope's recipient into the copy of that recipient only.
    if (mailbox !== 'dee') expect(file).not.toContain('dee@')
    expect(await world.postfix.count(mailbox)).toBe(1)
  }
})

test('fifty recipients with long names get one copy each in one transaction, and every name arrives', async () => {
  const before = await world.postfix.count('ann')
  const nameOf = (i: number) => `${'Ünïcödé '.repeat(20)}${i}`
  const { body } = await world.product.send({
    to: 'ann@plain.example.net',
    cc: USERS.map((user, i) => `${nameOf(i)} <${user}>`),
    bcc: 'dee@plain.example.net',
  })
  expect(body.status).toBe('delivered')
  expect(body.recipients).toHaveLength(50)
  await expect.poll(() => world.postfix.count('users')).toBe(USERS.length)
  await expect.poll(() => world.postfix.count('ann')).toBe(before + 1)
  const { mail } = await readByPython('ann')
  expect(mail).toMatchObject({ bcc: null, defects: [], cc: USERS.map((user, i) => [nameOf(i), user]) })
})
