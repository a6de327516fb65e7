import { randomUUID } from 'node:crypto'
import type postgres from 'postgres'
import { Reason, type RecipientOutcome } from '../../gen/verdict/v1/outcomes_pb.ts'
import type { Database } from '../db/connect.ts'
import { inTime } from '../db/in-time.ts'
import { bounced, inDoubt } from './outcome.ts'
import { RECORD, recordRow } from './record.ts'

const EVERY_MS = 5_000
const MESSAGES_A_ROUND = 100
/** A round whose answers were lost on the way does not keep the next one from running. */
const ROUND_MS = 60_000

export interface Swept {
  /** Messages with a marker: settled, the marked recipients in doubt. */
  settled: number
  /** Messages without one: gone, as if the request had never come. */
  released: number
}

/**
 * Settles what a crash or a pause left behind: messages whose lease is over. First the fence: their rows are taken over, so that
 * no marker and no record of their old owner can pass any more; only what the fence returns sees a marker set a moment ago. All
 * in one transaction; nothing is ever mailed.
 */
export async function sweep(db: Database): Promise<Swept> {
  const sweeper = randomUUID()
  return db.$client.begin(async (tx) => {
    const fenced = await fence(tx, sweeper)
    const marked = fenced.filter((message) => message.recipients.some((recipient) => recipient.marked))
    const unmarked = fenced.filter((message) => !marked.includes(message)).map((message) => message.id)
    if (unmarked.length > 0) {
      await tx`delete from open_messages where id = any(${unmarked}::uuid[])`
      await tx`delete from open_recipients where message_id = any(${unmarked}::uuid[])`
    }
    if (marked.length > 0) {
      const rows = marked.map((message) =>
        recordRow({
          messageId: message.id,
          claim: sweeper,
          sizeBytes: 0,
          outcomes: message.recipients.map(leftBehind),
        }),
      )
      await tx.unsafe(RECORD, [`[${rows.join(',')}]`])
    }
    return { settled: marked.length, released: unmarked.length }
  })
}

interface Fenced {
  id: string
  recipients: { email: string; marked: boolean }[]
}

async function fence(tx: postgres.TransactionSql, sweeper: string): Promise<Fenced[]> {
  const due = await tx`
    update open_messages set claim = ${sweeper}, lease_until = clock_timestamp() + interval '1 minute'
    where id in (
      select id from open_messages where lease_until < clock_timestamp() order by id limit ${MESSAGES_A_ROUND}
      for update skip locked)
    returning id`
  if (due.length === 0) return []
  const taken = await tx`
    update open_recipients set claim = ${sweeper}, lease_until = clock_timestamp() + interval '1 minute'
    where message_id = any(${due.map((row) => row.id)}::uuid[])
    returning message_id, position, email, marked_at`
  return due.map(({ id }) => ({
    id,
    recipients: taken
      .filter((row) => row.message_id === id)
      .sort((a, b) => a.position - b.position)
      .map((row) => ({ email: row.email, marked: row.marked_at !== null })),
  }))
}

function leftBehind({ email, marked }: { email: string; marked: boolean }): RecipientOutcome {
  return marked ? inDoubt(email) : bounced(email, Reason.TEMPORARY_FAILURE)
}

/** Sweeps every five seconds until stopped. `report` hears of what was found and of rounds that failed (the next one tries again). */
export function keepSweeping(db: Database, report: (found: Swept | { error: unknown }) => void): { stop(): void } {
  let running = false
  const round = async () => {
    if (running) return
    running = true
    try {
      for (;;) {
        const found = await inTime(sweep(db), ROUND_MS)
        if (found.settled + found.released > 0) report(found)
        if (found.settled + found.released < MESSAGES_A_ROUND) break
      }
    } catch (error) {
      report({ error })
    } finally {
      running = false
    }
  }
  const timer = setInterval(round, EVERY_MS).unref()
  return { stop: () => clearInterval(timer) }
}
