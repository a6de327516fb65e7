import { expect, test } from 'vitest'
import { createKey, revokeKey } from '../../server/access/api-keys.ts'
import { outlast, pauseFor } from '../harness/waits.ts'
import { stuffed } from './client.ts'
import { letter, startFrontWorld } from './world.ts'

const { api, loggedIn } = await startFrontWorld()
const { db, clock, account, exchanger } = api.world

/** As for every call of the API. */
const REVOKED_WITHIN_MS = 5_000

const newKey = (expiresAt?: Date) =>
  createKey(db, clock, { accountId: account.id, name: 'program', kind: 'live', scopes: ['emails.send'], expiresAt })
const ENVELOPE = ['MAIL FROM:<hello@example.test>', 'RCPT TO:<ann@example.net>', 'DATA']
const mail = () => ({ from: 'hello@example.test', to: ['ann@example.net'], content: letter() })

test('a key that is revoked sends nothing over its open connection 5 s later', async () => {
  const { key, apiKey } = await newKey()
  const client = await loggedIn(key)
  expect(await client.send(mail())).toMatch(/^250/)
  await revokeKey(db, account.id, apiKey.id)
  const revokedAtMs = performance.now()
  while (performance.now() - revokedAtMs < REVOKED_WITHIN_MS) {
    if (!(await client.send(mail())).startsWith('250')) break
    await pauseFor(100)
  }
  expect(performance.now() - revokedAtMs).toBeLessThan(REVOKED_WITHIN_MS)
  exchanger.messages.length = 0
  expect(await client.send(mail())).toMatch(/^550 5\.7\.8 /)
  expect(await client.ask('NOOP')).toMatch(/^250/)
  expect(exchanger.messages).toEqual([])
  client.end()
})

test('a key that expires sends nothing over its open connection', async () => {
  const { key } = await newKey(new Date(clock.now() + 1_500))
  const client = await loggedIn(key)
  expect(await client.send(mail())).toMatch(/^250/)
  await outlast(1_600)
  exchanger.messages.length = 0
  expect(await client.send(mail())).toMatch(/^550 5\.7\.8 /)
  expect(exchanger.messages).toEqual([])
  client.end()
})

test('a key that expires between DATA and the dot sends nothing', async () => {
  const { key } = await newKey(new Date(clock.now() + 1_500))
  const client = await loggedIn(key)
  exchanger.messages.length = 0
  for (const line of ENVELOPE) expect(await client.ask(line)).toMatch(/^[23]/)
  await outlast(1_600)
  client.write(stuffed(letter()))
  expect(await client.reply()).toMatch(/^550 5\.7\.8 /)
  expect(exchanger.messages).toEqual([])
  client.end()
})
