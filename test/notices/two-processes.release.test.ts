import { beforeAll, expect, test, vi } from 'vitest'
import { notices } from '../../server/db/people-schema.ts'
import { breakers } from '../../server/db/schema.ts'
import { type Instance, startInstance } from '../e2e/instance.ts'
import { type Exchanger, startExchanger } from '../harness/exchanger.ts'
import { addPerson } from '../harness/person.ts'
import { type RunningApi, startApiProcess } from '../harness/process.ts'
import { atEnd, untilEnd } from '../harness/until-end.ts'

/** A process looks every 15 seconds, and sends every 2. */
const NOTICED_MS = 40_000

let exchanger: Exchanger
let instance: Instance
let other: RunningApi

beforeAll(async () => {
  exchanger = untilEnd(await startExchanger())
  const env = { NOTIFY_FROM: 'verdict@example.test', SMTP_ROUTES: `people.test=127.0.0.1:${exchanger.port}` }
  instance = await startInstance(env)
  other = await startApiProcess(instance.environment)
  atEnd(() => other.kill('SIGKILL'))
})

const subjects = () => exchanger.messages.map(({ content }) => /^Subject: (.*)\r$/m.exec(content.toString())![1])

test('two processes notify once of what begins and of what ends, and a process that is killed is no loss', async () => {
  const { db } = instance.database
  const accountId = instance.account.id
  await addPerson(db, { accountId })
  const breaker = { accountId, domain: 'example.test', cause: 'bounces', changedAt: new Date() } as const
  const base = { baseEmails: 0, baseBounces: 0, baseComplaints: 0 }
  await db.insert(breakers).values({ ...breaker, ...base, state: 'open' })
  const paused = 'Sending from example.test is paused'
  await vi.waitFor(() => expect(subjects()).toEqual([paused]), { timeout: NOTICED_MS, interval: 100 })
  await instance.api.kill('SIGKILL')
  await db.update(breakers).set({ state: 'closed' })
  const over = [paused, 'Sending from example.test is no longer paused']
  await vi.waitFor(() => expect(subjects()).toEqual(over), { timeout: NOTICED_MS, interval: 100 })
  await vi.waitFor(async () =>
    expect((await db.select().from(notices)).map(({ state }) => state)).toEqual(['sent', 'sent']),
  )
  const metrics = await (await fetch(`${other.metricsUrl}`)).text()
  expect(metrics).toMatch(/verdict_notices_total\{[^}]*kind="breaker_open"[^}]*result="sent"[^}]*\} \d/)
})
