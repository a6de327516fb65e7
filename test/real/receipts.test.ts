import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import type { ReceiptClaims } from '../../server/receipts/claims.ts'
import { findSentOctets } from '../../server/receipts/sent-octets.ts'
import { ANNA, type MailWorld, ONE_MAILBOX, startMailWorld } from './mail-world.ts'

// A receipt in the hands of others: PyJWT verifies it, and its digest is that of the mail that Postfix has stored.

const GUIDE = await readFile(join(import.meta.dirname, '../../docs/receipts.md'), 'utf8')
const [, VERIFIER] = /^```python verify\n(.*?)^```/ms.exec(GUIDE)!

let world: MailWorld
let receipt: string
let mail: Buffer

beforeAll(async () => {
  world = await startMailWorld(ONE_MAILBOX)
  const { body } = await world.product.send({
    to: ANNA,
    subject: 'Your invoice – März',
    text: '.\n..dots\n\nTrailing spaces   \n\n\n',
    html: '<p>Grüße</p>',
    attachments: [{ filename: 'a.bin', content: Buffer.alloc(100_000, 7).toString('base64') }],
  })
  expect(body.status).toBe('delivered')
  mail = await world.postfix.mail('anna')
  ;({ receipt } = await world.product.get(`/api/v1/emails/${body.message_id}/receipt`))
})

/** Runs the guide's Python against the keys of the running API. Returns the claims, or the name of the exception. */
async function python(jws: string): Promise<ReceiptClaims & { fault?: string }> {
  const driver = `
import json, sys
try:
    print(json.dumps(verify(sys.argv[1])))
except Exception as fault:
    print(json.dumps({"fault": type(fault).__name__}))
`
  const code = VERIFIER!.replace('https://mail.example.com', world.product.api.url) + driver
  const { stdout } = await promisify(execFile)('/usr/bin/python3', ['-c', code, jws])
  return JSON.parse(stdout)
}

test('PyJWT verifies a receipt with the published keys, and refuses a changed one', async () => {
  const claims = await python(receipt)
  expect(claims.recipients).toMatchObject([
    { email: ANNA, kind: 'to', status: 'delivered', code: 250, reply: expect.any(String) },
  ])
  const [head, , signature] = receipt.split('.')
  const changed = Buffer.from(JSON.stringify({ ...claims, recipients: [] })).toString('base64url')
  expect(await python(`${head}.${changed}.${signature}`)).toEqual({ fault: 'InvalidSignatureError' })
})

test('the digest is that of the mail in the mailbox, after the fields that Postfix has added', async () => {
  const { digest } = await python(receipt)
  expect(findSentOctets(mail, digest!)?.added).toBeGreaterThan(0)
  expect(mail.toString('latin1').slice(0, 12)).toMatch(/^Return-Path:/)
})
