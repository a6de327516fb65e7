import { create } from '@bufbuild/protobuf'
import { DeliveryStatus, RecipientOutcomeSchema } from '../gen/verdict/v1/outcomes_pb.ts'
import { inFlight } from '../server/db/collector.ts'
import { connect, type Database } from '../server/db/connect.ts'
import { newId } from '../server/db/ids.ts'
import { applyMigrations } from '../server/db/migrations.ts'
import { makePartitions } from '../server/db/partitions.ts'
import { createClaim } from '../server/ledger/claim.ts'
import { LEFT_TO_TEMPORAL } from '../server/ledger/first-attempts-offer.ts'
import { createMarker } from '../server/ledger/marker.ts'
import { createRecord } from '../server/ledger/record.ts'
import { endingRow } from '../server/sending/outcome.ts'
import { startDatabase } from './load/database.ts'
import { newClaim } from './load/new-claim.ts'
import { playPairs, type Round, ratio, round } from './pairs.ts'
import type { Report } from './report.ts'

const SHARDS = 4
const ACCOUNTS = 64
const SENDS = 20_000
const WARM_UP = 5_000
const IN_FLIGHT = 64
const ROUNDS = 9
const CONTENT = { sizeBytes: 4_000, digest: 'ab'.repeat(32) }

/**
 * What it costs a process to keep the accounts of four shards apart: claim, marker and record without SMTP, in four
 * sets of collectors with their own connections, against one set for all accounts. The rows of one statement are
 * then of one shard, as they would have to be if the shards were in several databases. Here all are in one.
 */
export async function run(): Promise<Report> {
  await using database = await startDatabase()
  await applyMigrations(database.url)
  const databases = Array.from({ length: 1 + SHARDS }, () => connect(database.url))
  await makePartitions(databases[0]!)
  const [one, ...four] = databases.map(ledgerOf)
  const accounts = Array.from({ length: ACCOUNTS }, (_, i) => ({ id: newId(Date.now()), shard: i % SHARDS }))

  async function play(ledgers: ReturnType<typeof ledgerOf>[], sends: number): Promise<Round> {
    let begun = 0
    async function sendAll(): Promise<void> {
      while (begun < sends) {
        const { id, shard } = accounts[begun++ % ACCOUNTS]!
        await ledgers[shard % ledgers.length]!(id)
      }
    }
    // The server is a child of this process.
    return round([process.pid], sends, () => Promise.all(Array.from({ length: IN_FLIGHT }, sendAll)))
  }

  for (const ledgers of [[one!], four]) await play(ledgers, WARM_UP)
  const pairs = await playPairs(
    () => play(four, SENDS),
    () => play([one!], SENDS),
    'one shard',
    ROUNDS,
  )
  await Promise.all(databases.map((db) => db.$client.end()))
  return {
    figures: {
      'sends/s of four shards relative to one': ratio(pairs, 'perSecond'),
      'CPU of four shards relative to one': ratio(pairs, 'cpuMicros'),
    },
    bars: [],
  }
}

/** The three commits of a send of an account, with their own collectors. */
function ledgerOf(db: Database): (accountId: string) => Promise<void> {
  const claim = createClaim(db)
  const mark = createMarker(db)
  const record = createRecord(db, LEFT_TO_TEMPORAL)
  return (accountId) =>
    inFlight(db.load, async () => {
      const send = newClaim(accountId, Date.now())
      const email = send.recipients[0]!.email
      const delivered = create(RecipientOutcomeSchema, { email, status: DeliveryStatus.DELIVERED })
      await claim(send)
      if (!(await mark(send.messageId, send.claimId, [0]))) throw new Error('the marker was not set')
      if (!(await record(send, endingRow([delivered], CONTENT)))) throw new Error('the outcome was not stored')
    })
}
