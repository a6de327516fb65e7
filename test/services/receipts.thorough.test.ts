import { createHash } from 'node:crypto'
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose'
import { expect, test } from 'vitest'
import { ReceiptService } from '../../gen/verdict/v1/receipts_pb.ts'
import { newId, publicId } from '../../server/db/ids.ts'
import { openMessages, receiptKeys } from '../../server/db/schema.ts'
import type { ReceiptClaims } from '../../server/receipts/claims.ts'
import { startApi } from './api.ts'

const api = await startApi()

const receiptOf = (id: string, key?: string) => api.call('GET', `/api/v1/emails/${id}/receipt`, { key })

/** Verifies as others do: with jose, and the key set that the issuer publishes. */
async function verified(receipt: string): Promise<ReceiptClaims> {
  const keySet = createRemoteJWKSet(new URL(`${api.url}/.well-known/jwks.json`))
  const options = { issuer: api.url, typ: 'verdict-receipt+jwt', algorithms: ['EdDSA'] }
  return (await jwtVerify<ReceiptClaims>(receipt, keySet, options)).payload
}

test('a receipt states what Get email shows, and anyone can verify it with the published keys', async () => {
  const to = ['delivered@simulator.test', 'mailbox_full@simulator.test', 'suppression_list@simulator.test']
  const { json: sent } = await api.send({ to, from: 'Ann <hello@example.test>' })
  const { status, json } = await receiptOf(sent.message_id)
  expect([status, Object.keys(json)]).toEqual([200, ['receipt']])
  const claims = await verified(json.receipt)
  const { json: email } = await api.call('GET', `/api/v1/emails/${sent.message_id}`)
  expect(claims).toMatchObject({
    iss: api.url,
    sub: sent.message_id,
    from_domain: 'example.test',
    created_at: email.createdAt,
    sandbox: false,
  })
  // Two clocks on a busy machine, not another day or a unit mistaken.
  expect(Math.abs(claims.iat * 1_000 - Date.now())).toBeLessThan(60_000)
  for (const [i, recipient] of claims.recipients.entries()) {
    const { email: address, status, reason, smtp } = email.recipients[i]
    expect(recipient).toMatchObject({ email: address, kind: 'to', status, at: email.completedAt })
    expect([recipient.reason, recipient.code, recipient.reply]).toEqual([reason, smtp?.code, smtp?.reply])
  }
  expect(claims.recipients.map(({ code }) => code)).toEqual([250, 452, undefined])
})

test('the digest is that of the octets that the server received, and absent when nothing went out', async () => {
  const { json: sent } = await api.send({ to: 'ann@example.net', text: '.\n..dots\n' })
  const { receipt } = (await receiptOf(sent.message_id)).json
  const digest = createHash('sha256').update(api.world.exchanger.messages.at(-1)!.content, 'latin1').digest('hex')
  expect(decodeJwt(receipt)).toHaveProperty('digest', `sha-256:${digest}`)
  const { json: rejected } = await api.send({ to: 'invalid_address@simulator.test' })
  const claims = decodeJwt((await receiptOf(rejected.message_id)).json.receipt)
  expect(claims).not.toHaveProperty('digest')
  expect(claims).toMatchObject({ recipients: [{ status: 'rejected', reason: 'invalid_address' }] })
})

test('two receipts of an email differ in nothing but iat', async () => {
  const { json: sent } = await api.send()
  const parts = async () => {
    const { iat: _, ...claims } = decodeJwt((await receiptOf(sent.message_id)).json.receipt)
    return JSON.stringify(claims)
  }
  expect(await parts()).toBe(await parts())
})

test('a dry run has a receipt that says so', async () => {
  const { json: sent } = await api.send({}, { 'x-service-sandbox': 'true' })
  const claims = await verified((await receiptOf(sent.message_id)).json.receipt)
  expect(claims).toMatchObject({ sandbox: true, recipients: [{ status: 'delivered' }] })
  expect(claims).not.toHaveProperty('digest')
})

test('a message in doubt has a receipt that says so', async () => {
  const { world } = api
  world.exchanger.script = { dot: 'close' }
  const { json: sent } = await api.send({ to: 'ann@example.net' })
  world.exchanger.script = {}
  const [recipient] = (await verified((await receiptOf(sent.message_id)).json.receipt)).recipients
  expect(recipient).toMatchObject({ status: 'bounced', reason: 'connection_timeout', in_doubt: true })
  expect(recipient).toMatchObject({ mx: 'mx.example.net', ip: '127.0.0.1' })
  expect(recipient).not.toHaveProperty('code')
})

test("404 not_found: a running send, an unknown id, another account's message; 410 event_expired after 90 days", async () => {
  const { world, keys } = api
  const ends = Promise.withResolvers<void>()
  world.exchanger.script = { dot: { after: ends.promise, act: '250 2.0.0 queued' } }
  const sending = api.send({ to: 'ann@example.net' })
  await expect.poll(() => world.db.$count(openMessages)).toBe(1)
  const [open] = await world.db.select().from(openMessages)
  expect((await receiptOf(publicId('msg', open!.id))).json.error).toBe('not_found')
  ends.resolve()
  const { json: sent } = await sending
  world.exchanger.script = {}
  expect((await receiptOf(sent.message_id)).status).toBe(200)
  expect((await receiptOf(sent.message_id, keys.test)).status).toBe(200)
  for (const id of [sent.message_id, publicId('msg', newId(Date.now())), 'msg_short']) {
    const { status, json } = await receiptOf(id, keys.stranger)
    expect([status, json.error]).toEqual([404, 'not_found'])
  }
  const { status, json } = await receiptOf(publicId('msg', newId(Date.now() - 90.001 * 86_400_000)))
  expect([status, json.error]).toEqual([410, 'event_expired'])
})

test('gRPC returns the same receipt', async () => {
  const { json: sent } = await api.send()
  const client = api.grpc(ReceiptService)
  const { receipt } = await client.getReceipt({ id: sent.message_id })
  expect(await verified(receipt)).toHaveProperty('sub', sent.message_id)
})

test('the key set is a page: no key is needed, and nothing is counted', async () => {
  const response = await fetch(`${api.url}/.well-known/jwks.json`)
  expect(response.status).toBe(200)
  expect(response.headers.get('cache-control')).toBe('public, max-age=300')
  expect(response.headers.get('content-type')).toMatch(/^application\/json/)
  expect(response.headers.has('x-ratelimit-limit')).toBe(false)
  const text = await response.text()
  const [key] = await api.world.db.select().from(receiptKeys)
  expect(JSON.parse(text).keys).toMatchObject([{ x: key!.publicKey.subarray(-32).toString('base64url') }])
  expect(text).not.toContain('"d"')
})
