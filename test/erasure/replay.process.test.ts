import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { Webhook } from 'standardwebhooks'
import { expect, test, vi } from 'vitest'
import { runCli as verdict } from '../../cli/run.ts'
import { ReplayService } from '../../gen/verdict/admin/v1/replays_pb.ts'
import { encryptionKeys } from '../../server/config/values.ts'
import { createDatabaseClock } from '../../server/db/clock.ts'
import { createSealer } from '../../server/db/encryption.ts'
import { newId, parsePublicId, publicId } from '../../server/db/ids.ts'
import { run } from '../../server/db/statement.ts'
import { payloadOf } from '../../server/webhooks/attempt/payload.ts'
import { startInstance } from '../e2e/instance.ts'
import { signIn } from '../harness/person.ts'
import { startProgram, waitForOutput } from '../harness/process.ts'
import { type ReceivedRequest, startReceiver } from '../harness/receiver.ts'
import { startTemporal } from '../harness/temporal.ts'
import { atEnd, untilEnd } from '../harness/until-end.ts'
import { newEvent, storeDispatches } from '../webhooks/rows.ts'

// Webhooks of events whose address was erased: the API and the worker as separate processes, Temporal, and a receiver
// that verifies what it gets.

const [temporal, receiver] = await Promise.all([startTemporal().then(untilEnd), startReceiver().then(untilEnd)])
const instance = await startInstance({
  TEMPORAL_ADDRESS: temporal.address,
  WEBHOOK_ALLOW_SUBNETS: '127.0.0.0/8',
  // A retry waits until a person asks for it.
  WEBHOOK_SCHEDULE: '0,600s',
})
const clock = untilEnd(await createDatabaseClock(instance.database.db))
const worker = startProgram(process.execPath, ['workflows/worker.ts'], instance.environment)
atEnd(() => worker.kill('SIGKILL'))
await waitForOutput(worker, /"msg":"ready"/)
const endpoint = { url: receiver.url, events: ['email.delivery', 'email.feedback'] }
const response = await instance.put('/api/v1/webhook', JSON.stringify(endpoint))
const secret = ((await response.json()) as { secret: string }).secret

async function erase(email: string): Promise<string> {
  const { DATABASE_URL, ENCRYPTION_KEYS } = instance.environment
  for (const [name, value] of Object.entries({ DATABASE_URL, ENCRYPTION_KEYS, VERDICT_URL: '' }))
    vi.stubEnv(name, value)
  return ((await verdict(['erase', email, '--yes'])).json as { erased: string }).erased
}

interface Payload {
  event: string
  event_id: string
  message_id: string
  recipient: string
}

/** The payload of a request whose signature is that of the endpoint's secret. */
function verified({ body, headers }: ReceivedRequest): Payload {
  return new Webhook(secret).verify(body.toString(), headers) as Payload
}

async function expectRequests(count: number): Promise<Payload[]> {
  await expect.poll(() => receiver.requests.length).toBe(count)
  const payloads = receiver.requests.map(verified)
  receiver.requests.length = 0
  return payloads.toSorted((a, b) => a.event.localeCompare(b.event))
}

/** The payload of an event after the erasure: the address is replaced, what names the person otherwise is gone. */
function erasedPayload(payload: object, email: string, erased: string): object {
  const text = JSON.stringify(payload).replaceAll(email, erased)
  return JSON.parse(text, (name, value) => {
    if (name === 'mx' || name === 'words') return undefined
    return name === 'reply' || name === 'detail' ? '[erased]' : value
  })
}

const person = async () => {
  const sealer = createSealer(encryptionKeys(instance.environment.ENCRYPTION_KEYS))
  const signedIn = await signIn({ db: instance.database.db, clock, sealer }, { accountId: instance.account.id })
  return signedIn.client(ReplayService, instance.api.url)
}

test('events of an erased address are replayed with its keyed hash, nothing else of the person, and a valid signature', async () => {
  const email = 'complaint+ann@simulator.test'
  const { message_id } = (await (
    await instance.send({
      to: `Ann Smith <${email}>`,
      subject: 'Ann, your order',
      metadata: { order: '17', mail: email },
      tag: `for ${email}`,
    })
  ).json()) as { message_id: string }
  const originals = await expectRequests(2)
  expect(originals).toMatchObject([
    { event: 'email.delivery', message_id, recipient: email },
    { event: 'email.feedback', message_id, recipient: email },
  ])

  const erased = await erase(email)
  expect(erased).toMatch(/^erased-[0-9a-f]{32}@erased\.invalid$/)
  const expected = originals.map((payload) => erasedPayload(payload, email, erased))
  const withoutIds = JSON.stringify(expected).replaceAll(/(msg|evt|dsp)_[0-9a-z]{26}/g, '')
  expect(withoutIds).not.toMatch(/ann|smith/i)

  expect((await instance.post(`/api/v1/messages/${message_id}/replay`, '{}')).status).toBe(200)
  expect(await expectRequests(2)).toEqual(expected)
})

test('a replay of a range posts the keyed hash, too', async () => {
  const email = 'eve@example.net'
  // Only events that are older than 20 seconds are replayed.
  const createdAtMs = Math.floor(clock.now()) - 60_000
  const smtp = { mx: 'mx.eve.example', code: 550, enhanced: '5.1.1', reply: `550 5.1.1 <${email}>: Eve has moved` }
  const facts = { recipient: email, status: 'bounced', smtp, metadata: { mail: email } } as const
  const event = newEvent(instance.account.id, { ...facts, id: newId(createdAtMs), createdAtMs })
  const { db } = instance.database
  await storeDispatches(instance.database, [event], { lease: 3_600 })
  await run(db, 'delete from open_dispatches')

  const erased = await erase(email)
  const replays = await person()
  // On a slow machine the events of the test before are old enough, too.
  const [from, to] = [timestampFromMs(createdAtMs - 1_000), timestampFromMs(createdAtMs + 1_000)]
  await replays.startReplay({ filter: { from, to } })
  const payloads = await expectRequests(1)
  expect(payloads).toEqual([erasedPayload(JSON.parse(payloadOf(event).toString()), email, erased)])
  expect(JSON.stringify(payloads)).not.toMatch(/eve@|Eve/)
})

test('a retry that waits while the address is erased posts the keyed hash, too', async () => {
  const email = 'mailbox_full+bob@simulator.test'
  receiver.script = { status: 503 }
  await instance.send({ to: email, subject: 'Bob, your order' })
  const [original] = await expectRequests(1)
  expect(original).toMatchObject({ recipient: email, smtp: { reply: expect.stringContaining('quota') } })
  const erased = await erase(email)
  receiver.script = {}
  const dispatchId = publicId('dsp', parsePublicId('evt', original!.event_id)!)
  const replays = await person()
  const retry = () =>
    replays.retryDispatch({ dispatchId }).then(
      () => 'retried',
      ({ message }) => message,
    )
  await expect.poll(retry).toBe('retried')
  expect(await expectRequests(1)).toEqual([erasedPayload(original!, email, erased)])
})
