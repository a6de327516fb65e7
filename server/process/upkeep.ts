import { workOnEach } from '../async/each.ts'
import { runEvery } from '../async/run-every.ts'
import { keepEventOrder } from '../db/event-order.ts'
import { removeExpired } from '../db/expiry.ts'
import { keepPartitions, makePartitions } from '../db/partitions.ts'
import { keepSweeping } from '../ledger/sweep.ts'
import { findNotices } from '../notices/find-notices.ts'
import { deleteRetired } from '../receipts/receipt-keys.ts'
import { keepBadHours } from '../reputation/bad-hours.ts'
import { sumDays } from '../reputation/day-statistics.ts'
import { mergeStatistics } from '../reputation/merge-statistics.ts'
import { addUpOpen, mergeGroups } from '../reputation/open-statistics.ts'
import { findRefusingProviders } from '../reputation/refusing-providers.ts'
import { countTasks } from '../telemetry/tasks.ts'
import type { Program } from './program.ts'

const UPKEEP_EVERY_MS = 60_000
/** Statistics by the minute and by group scan all of `open_stats`, so it is kept short. */
const ADD_UP_EVERY_MS = 10_000
const FIND_NOTICES_EVERY_MS = 15_000

/** What a round of upkeep does, one after the other. */
export const UPKEEP = [removeExpired, deleteRetired, mergeStatistics, mergeGroups, sumDays]

/** Creates the partitions of the coming days, and starts the regular work on the database beside the sends. */
export async function startUpkeep(program: Program): Promise<void> {
  const { config, db, log, metrics, ends } = program
  const task = countTasks(metrics)
  const partitions = await keepPartitions({
    make: task('partitions', () => makePartitions(db)),
    report: (error) => log.error({ err: error }, 'partitions could not be created'),
  })
  ends.defer(() => partitions.stop())
  await keepEventOrder(db)
  const every = (ms: number, name: Parameters<typeof task>[0], work: () => Promise<void>, fault: string) => {
    const rounds = runEvery(ms, task(name, work), (err) => log.error({ err }, fault))
    ends.defer(() => rounds.stop())
  }
  const upkeep = () => workOnEach(UPKEEP, async (work) => void (await work(db)))
  every(UPKEEP_EVERY_MS, 'upkeep', upkeep, 'expired rows could not be removed')
  every(UPKEEP_EVERY_MS, 'bad_hours', () => lookForBadHours(program), 'bad hours of providers could not be looked for')
  every(ADD_UP_EVERY_MS, 'statistics', () => addUpOpen(db), 'statistics could not be added up')
  const refusing = 'providers that refuse an account could not be looked for'
  every(FIND_NOTICES_EVERY_MS, 'refusing_providers', () => findRefusingProviders(db), refusing)
  const notices = () => findNotices(db, { hasMail: config.notifyFrom !== undefined })
  every(FIND_NOTICES_EVERY_MS, 'notices', notices, 'notifications could not be looked for')
  const sweeper = keepSweeping(db, {
    wrap: (round) => task('sweep', round),
    report(round) {
      if ('error' in round) return log.error({ err: round.error }, 'the sweeper failed')
      metrics.swept.add({ end: 'settled' }, round.settled)
      metrics.swept.add({ end: 'released' }, round.released)
      log.warn(round, 'settled what a crash left behind')
    },
  })
  ends.defer(() => sweeper.stop())
}

async function lookForBadHours({ limits, db, log, metrics }: Program): Promise<void> {
  for (const { provider, isBegin } of await keepBadHours(db, limits.breaker)) {
    log.warn({ provider }, isBegin ? 'a bad hour of a mailbox provider begins' : 'a bad hour of a provider is over')
    if (isBegin) metrics.providerBadHours.add({ provider })
  }
}
