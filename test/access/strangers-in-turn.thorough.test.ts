import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PersonService } from '../../gen/verdict/admin/v1/person_pb.ts'
import { EmailService } from '../../gen/verdict/v1/emails_pb.ts'
import { FairTurns } from '../../net/fair-turns.ts'
import { createKey } from '../../server/access/api-keys.ts'
import { createKeyGate } from '../../server/access/key-gate.ts'
import { createSessionCookie } from '../../server/access/people/cookie.ts'
import { createSessionGate } from '../../server/access/people/session-gate.ts'
import { DEFAULT_LIMITS } from '../../server/config/limits.ts'
import { testAccount } from '../harness/account.ts'

// However many requests of strangers wait, and from wherever they come, those of others wait for few of them.

const { db, clock, accountId } = await testAccount()
const turns = new FairTurns()
const parts = { db, clock, limits: DEFAULT_LIMITS, turns }
const byKey = createKeyGate(parts)
const cookie = createSessionCookie({ keys: ['a key of cookies'], secure: false })
const bySession = createSessionGate({ ...parts, cookie: () => cookie })
const { key } = await createKey(db, clock, { accountId, name: 'own', kind: 'live', scopes: ['emails.send'] })

/** Two rounds of the event loop. */
const FEW = 64

const callWith = (authorization: string | null, remoteAddress: string) =>
  byKey({ method: EmailService.method.send, authorization, remoteAddress, tellRate() {} })
const ownCall = () => callWith(`Bearer ${key}`, '203.0.113.1')

/** Requests that are refused, or counted for their address alone. */
const STRANGERS: Record<string, (remoteAddress: string) => Promise<unknown>> = {
  'without a key': (remoteAddress) => callWith(null, remoteAddress),
  'with what is no key': (remoteAddress) => callWith('Bearer secret', remoteAddress),
  'for what needs no key': (remoteAddress) =>
    byKey({ method: undefined, authorization: null, keyOptional: true, remoteAddress, tellRate() {} }),
  'without a session': (remoteAddress) =>
    bySession({
      method: PersonService.method.getPerson,
      cookie: undefined,
      account: undefined,
      remoteAddress,
      tellRate() {},
      setCookie() {},
    }),
}

const crowds = fc.record({
  kind: fc.constantFrom(...Object.keys(STRANGERS)),
  amount: fc.constantFrom(10, 300, 5_000),
  networks: fc.integer({ min: 1, max: 250 }),
})

/** Returns how many requests of the crowd have ended before one that comes after them. */
async function waitingBefore(
  { kind, amount, networks }: { kind: string; amount: number; networks: number },
  one: () => Promise<unknown>,
): Promise<number> {
  let ended = 0
  const count = () => void ended++
  const crowd = Array.from({ length: amount }, (_, i) =>
    STRANGERS[kind]!(`198.51.100.${i % networks}`).then(count, count),
  )
  await one().catch(() => {})
  const before = ended
  await Promise.all(crowd)
  return before
}

test('the call of an account waits for few requests of strangers, however many there are', async () => {
  await fc.assert(
    fc.asyncProperty(crowds, async (crowd) => {
      // The key is known then, and places are taken ahead: the next call needs no statement.
      await ownCall()
      expect(await waitingBefore(crowd, ownCall)).toBeLessThanOrEqual(FEW)
    }),
    { numRuns: 40 },
  )
})

test('the request of a stranger waits for few requests of each other network', async () => {
  await fc.assert(
    fc.asyncProperty(crowds, async (crowd) => {
      const newcomer = () => STRANGERS[crowd.kind]!('203.0.113.2')
      expect(await waitingBefore(crowd, newcomer)).toBeLessThanOrEqual(FEW + 2 * crowd.networks)
    }),
    { numRuns: 40 },
  )
})
