import { randomUUID } from 'node:crypto'
import { Reason } from '../../gen/verdict/v1/outcomes_pb.ts'
import { databaseClock } from '../../server/db/clock.ts'
import { connect } from '../../server/db/connect.ts'
import { newId, showId } from '../../server/db/ids.ts'
import { makePartitions } from '../../server/db/partitions.ts'
import { createResolver } from '../../server/dns/resolver.ts'
import { lookupWith } from '../../server/egress/lookup.ts'
import { inTime } from '../../server/in-time.ts'
import { createLogger } from '../../server/log.ts'
import type { Claim } from '../../server/sending/claim.ts'
import { rejected } from '../../server/sending/outcome.ts'
import { settleStep } from '../../server/sending/record.ts'
import { attemptLog } from '../../server/webhooks/attempt-log.ts'
import { createDeliveries } from '../../server/webhooks/deliver-once.ts'
import { createDispatcher } from '../../server/webhooks/dispatcher.ts'
import { createPost } from '../../server/webhooks/post.ts'
import { machineMs } from './clock.ts'
import { type Place, sealerOf } from './endpoints.ts'
import { keepPace, type Pace } from './pace.ts'
import { startWorker, type Worker, work } from './process.ts'

/** Events of some accounts in turn. Those of a given rate are only committed; the others count as open until their first attempt ended. */
export type Stream = Pace & {
  /** UUIDs. */
  accountIds: string[]
}

export interface EventsMade {
  /** Of each stream, when its events were due to be committed, by the machine's clock. */
  due: [eventId: string, atMs: number][][]
  /** When all that was waited for had ended. */
  endMs: number
}

const WITHIN_MS = 120_000

interface Options extends Place {
  /** Until the second attempt; without one, the first is the last. */
  nextDelayMs?: number
}

/**
 * What of the product lies between an outcome and its first attempt written down, in a process of its own: events are stored with
 * the product's own statement, of sends that never reach SMTP, and posted by its dispatcher. HTTP and SMTP are left out.
 */
export function startFirstAttempts(options: Options): Promise<Worker<Stream[], EventsMade>> {
  return startWorker(import.meta.filename, [JSON.stringify(options)])
}

async function serve({ nextDelayMs, ...place }: Options): Promise<void> {
  const db = connect(place.databaseUrl, { connections: 10 })
  await makePartitions(db)
  const clock = await databaseClock(db)
  const { post } = createPost({ allowSubnets: ['127.0.0.0/8'], lookup: lookupWith(createResolver({})) })
  const report = attemptLog(createLogger('fatal'))
  const deliveries = createDeliveries({ db, clock, sealer: sealerOf(place), post, report })
  const failed = (error: unknown) => console.error(error)
  const open = new Map<string, PromiseWithResolvers<void>>()
  const dispatcher = createDispatcher({
    db,
    clock,
    nextDelayMs,
    async deliverFirst(event, nextDelayMs) {
      const made = await deliveries.deliverFirst(event, nextDelayMs)
      const waiting = open.get(event.messageId)
      made?.ended.then(waiting?.resolve, waiting?.reject)
      return made
    },
    failed,
  })
  /** By message. */
  const eventIds = new Map<string, string>()
  const settle = settleStep(db, {
    ...dispatcher,
    offer(event) {
      eventIds.set(event.messageId, event.id)
      dispatcher.offer(event)
    },
  })

  async function commit(claim: Claim): Promise<void> {
    const outcomes = claim.recipients.map(({ email }) => rejected(email, Reason.INVALID_ADDRESS))
    const stored = await settle(claim, { outcomes, sandbox: false })
    if (stored !== 'claimed') throw new Error(stored)
  }

  async function commitAndPost(claim: Claim): Promise<void> {
    const { messageId } = claim
    const ended = Promise.withResolvers<void>()
    open.set(messageId, ended)
    await commit(claim)
    await ended.promise
    open.delete(messageId)
  }

  async function make({ accountIds, ...pace }: Stream): Promise<[string, number][]> {
    const claims = Array.from({ length: pace.events }, (_, i) =>
      newClaim(accountIds[i % accountIds.length]!, clock.now()),
    )
    const begin = 'open' in pace ? commitAndPost : commit
    const due = await inTime(
      keepPace(pace, (event) => begin(claims[event]!)),
      WITHIN_MS,
    )
    return due.map((atMs, i) => [showId('evt', eventIds.get(claims[i]!.messageId)!), atMs])
  }

  work<Stream[], EventsMade>(async (streams) => ({ due: await Promise.all(streams.map(make)), endMs: machineMs() }))
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
