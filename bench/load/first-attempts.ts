import { randomUUID } from 'node:crypto'
import { Reason } from '../../gen/verdict/v1/outcomes_pb.ts'
import { encryptionKeys } from '../../server/config-values.ts'
import { databaseClock } from '../../server/db/clock.ts'
import { connect } from '../../server/db/connect.ts'
import { createSealer } from '../../server/db/encryption.ts'
import { newId, showId } from '../../server/db/ids.ts'
import { inTime } from '../../server/db/in-time.ts'
import { makePartitions } from '../../server/db/partitions.ts'
import { createLogger } from '../../server/log.ts'
import type { Claim } from '../../server/sending/claim.ts'
import { rejected } from '../../server/sending/outcome.ts'
import { settleStep } from '../../server/sending/record.ts'
import { createResolver } from '../../server/smtp/resolver.ts'
import { attemptLog } from '../../server/webhooks/attempt-log.ts'
import { createDeliveries } from '../../server/webhooks/deliver-once.ts'
import { createDispatcher } from '../../server/webhooks/dispatcher.ts'
import { lookupWith } from '../../server/webhooks/lookup.ts'
import { createPost } from '../../server/webhooks/post.ts'
import { machineMs } from './clock.ts'
import { keepPace, type Pace } from './pace.ts'
import { startWorker, type Worker, work } from './process.ts'

export type EventsRun = Pace & {
  /** UUIDs. Events are theirs in turn. */
  accountIds: string[]
}

const WITHIN_MS = 120_000

export interface EventsMade {
  /** When each event was due to be committed, by the machine's clock. */
  due: [eventId: string, atMs: number][]
  /** When the end of the last first attempt was committed. */
  lastMs: number
}

interface Place {
  databaseUrl: string
  encryptionKeys: string
}

/**
 * What of the product lies between an outcome and its first attempt written down, in a process of its own: events are stored with
 * the product's own statement, of sends that never reach SMTP, and posted by its dispatcher. HTTP and SMTP are left out.
 */
export function startFirstAttempts(place: Place): Promise<Worker<EventsRun, EventsMade>> {
  return startWorker(import.meta.filename, [JSON.stringify(place)])
}

async function serve(place: Place): Promise<void> {
  const db = connect(place.databaseUrl, { connections: 10 })
  const clock = await databaseClock(db)
  await makePartitions(db)
  const sealer = createSealer(encryptionKeys(place.encryptionKeys))
  const { post } = createPost({ allowSubnets: ['127.0.0.0/8'], lookup: lookupWith(createResolver({})) })
  const deliveries = createDeliveries({ db, clock, sealer, post, report: attemptLog(createLogger('fatal')) })
  const under = new Map<string, PromiseWithResolvers<void>>()
  const dispatcher = createDispatcher({
    db,
    nextDelayMs: undefined,
    async deliverFirst(event, nextDelayMs) {
      const made = await deliveries.deliverFirst(event, nextDelayMs)
      const waiting = under.get(event.id)!
      if (made?.posted.outcome !== 'acked') waiting.reject(new Error(`a first attempt ended ${made?.posted.outcome}`))
      else made.ended.then(waiting.resolve, waiting.reject)
      return made
    },
    failed: (error) => console.error(error),
  })
  const settle = settleStep(db, dispatcher)

  /** Resolves when its first attempt is written down. */
  async function make(claim: Claim): Promise<void> {
    const [{ eventId, email }] = claim.recipients as [Claim['recipients'][number]]
    const waiting = Promise.withResolvers<void>()
    under.set(eventId, waiting)
    const stored = await settle(claim, { outcomes: [rejected(email, Reason.INVALID_ADDRESS)], sandbox: false })
    if (stored !== 'claimed') throw new Error(stored)
    await waiting.promise
    under.delete(eventId)
  }

  work<EventsRun, EventsMade>(async ({ accountIds, ...pace }) => {
    const claims = Array.from({ length: pace.events }, (_, i) =>
      newClaim(accountIds[i % accountIds.length]!, clock.now()),
    )
    const due = await inTime(
      keepPace(pace, (event) => make(claims[event]!)),
      WITHIN_MS,
    )
    return { due: due.map((atMs, i) => [showId('evt', claims[i]!.recipients[0]!.eventId), atMs]), lastMs: machineMs() }
  })
}

function newClaim(accountId: string, createdAtMs: number): Claim {
  return {
    messageId: newId(createdAtMs),
    accountId,
    claim: randomUUID(),
    leaseMs: 40_000,
    createdAtMs,
    region: 'eu',
    domain: 'example.test',
    request: { subject: 'Your order is on its way' },
    recipients: [{ eventId: newId(createdAtMs), email: 'recipient@to.test' }],
  }
}

if (import.meta.main) await serve(JSON.parse(process.argv[2]!))
