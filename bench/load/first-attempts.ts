import { Reason } from '../../gen/verdict/v1/outcomes_pb.ts'
import { parseAddress } from '../../mail/address.ts'
import { createResolver } from '../../mail/dns/resolver.ts'
import { createLookup } from '../../net/lookup.ts'
import { inTime } from '../../server/async/timeout.ts'
import { createDatabaseClock } from '../../server/db/clock.ts'
import { connect } from '../../server/db/connect.ts'
import { publicId } from '../../server/db/ids.ts'
import { makePartitions } from '../../server/db/partitions.ts'
import type { Claim } from '../../server/ledger/claim.ts'
import { createLogger } from '../../server/process/log.ts'
import { rejected } from '../../server/sending/outcome.ts'
import { createSettleUntilStored } from '../../server/sending/until-stored.ts'
import { createAttemptLog } from '../../server/webhooks/attempt/attempt-log.ts'
import { createAttempts } from '../../server/webhooks/attempt/attempt-once.ts'
import { createPost } from '../../server/webhooks/post/post.ts'
import { createDispatcher } from '../../server/webhooks/queue/dispatcher.ts'
import { createEventBatches } from '../../server/webhooks/queue/event-batches.ts'
import { machineMs } from './clock.ts'
import { type Storage, sealerOf } from './endpoints.ts'
import { newClaim } from './new-claim.ts'
import { keepPace, type Pace } from './pace.ts'
import { startWorker, type Worker, work } from './process.ts'

/**
 * Events of the accounts in turn. At a given rate they are only committed. Otherwise an event is open until its first
 * attempt has ended.
 */
export type Stream = Pace & {
  /** UUIDs. */
  accountIds: string[]
}

export interface CreatedEvents {
  /** For each stream, when its events were due to be committed, by the machine's clock. */
  due: [eventId: string, atMs: number][][]
  /** When the last event was committed or its first attempt had ended. */
  endMs: number
}

const WITHIN_MS = 120_000

interface Options extends Storage {
  /** The delay of the second attempt. When absent, the first attempt is the last. */
  nextDelayMs?: number
}

/**
 * Starts, in its own process, the part of the product between an outcome and its stored first attempt. The
 * product's own statement stores events of sends that never reach SMTP, and its dispatcher posts them, in the batches
 * in which its thread gets them. HTTP and SMTP are left out.
 */
export function startFirstAttempts(options: Options): Promise<Worker<Stream[], CreatedEvents>> {
  return startWorker(import.meta.filename, [JSON.stringify(options)])
}

async function serve({ nextDelayMs, ...storage }: Options): Promise<void> {
  const db = connect(storage.databaseUrl, { connections: 10 })
  await makePartitions(db)
  const clock = await createDatabaseClock(db)
  const { post } = createPost({ allowSubnets: ['127.0.0.0/8'], lookup: createLookup(createResolver({})) })
  const report = createAttemptLog(createLogger('fatal'))
  const attempts = createAttempts({ db, clock, sealer: sealerOf(storage), post, report })
  const failed = (error: unknown) => console.error(error)
  const open = new Map<string, PromiseWithResolvers<void>>()
  const dispatcher = createDispatcher({
    db,
    clock,
    nextDelayMs,
    async attemptFirst(event, nextDelayMs) {
      const attempt = await attempts.attemptFirst(event, nextDelayMs)
      const ended = open.get(event.messageId)
      attempt?.stored.then(ended?.resolve, ended?.reject)
      return attempt
    },
    onError: failed,
  })
  const batches = createEventBatches((events) => events.forEach(dispatcher.offer))
  /** The event id of each message. */
  const eventIds = new Map<string, string>()
  const settle = createSettleUntilStored(db, {
    ...dispatcher,
    offer(event) {
      eventIds.set(event.messageId, event.id)
      batches.add(event)
    },
  })

  async function commit(claim: Claim): Promise<void> {
    const outcomes = claim.recipients.map(({ email, kind }) =>
      rejected({ address: parseAddress(email)!, kind }, Reason.INVALID_ADDRESS),
    )
    const result = await settle(claim, { outcomes, sandbox: false })
    if (result !== 'claimed') throw new Error(result)
  }

  async function commitAndPost(claim: Claim): Promise<void> {
    const { messageId } = claim
    const ended = Promise.withResolvers<void>()
    open.set(messageId, ended)
    await commit(claim)
    await ended.promise
    open.delete(messageId)
  }

  async function createEvents({ accountIds, ...pace }: Stream): Promise<[string, number][]> {
    const claims = Array.from({ length: pace.events }, (_, i) =>
      newClaim(accountIds[i % accountIds.length]!, clock.now()),
    )
    const start = 'open' in pace ? commitAndPost : commit
    const due = await inTime(
      keepPace(pace, (event) => start(claims[event]!)),
      WITHIN_MS,
    )
    return due.map((atMs, i) => [publicId('evt', eventIds.get(claims[i]!.messageId)!), atMs])
  }

  work<Stream[], CreatedEvents>(async (streams) => ({
    due: await Promise.all(streams.map(createEvents)),
    endMs: machineMs(),
  }))
}

if (import.meta.main) await serve(JSON.parse(process.argv[2]!))
