import { daysOf } from '../archive/days.ts'
import { createDropRule, dayOf, oldDays } from '../archive/due-days.ts'
import { openStore } from '../archive/open-store.ts'
import { type DayReport, writeOldDays } from '../archive/write-old-days.ts'
import type { Program } from './program.ts'

/** Writes what is due into the archive, and returns which tables of history may be dropped. */
export type ArchiveHistory = (stopping: AbortSignal) => Promise<(table: string) => boolean>

/**
 * Without an archive every table may be dropped. With one, what could not be written is logged each day and counts in a
 * metric: no fault of the archive stops the rest of the retention.
 */
export function createArchiveHistory({ config, db, log, metrics }: Program): ArchiveHistory {
  const { historyArchive, historyArchiveRequired: isRequired } = config
  if (!historyArchive) return async () => () => true
  let unwritten: number | undefined
  metrics.archiveUnwrittenDays.read(() => (unwritten === undefined ? [] : [[{}, unwritten]]))

  const writtenDays = async () => {
    using store = await openStore(historyArchive)
    return new Set(await daysOf(store).catch(() => []))
  }

  return async (stopping) => {
    await writeOldDays(reportDay, stopping).catch((err) => log.error({ err }, 'history could not be archived'))
    const written = await writtenDays()
    unwritten = (await oldDays(db)).filter((day) => !written.has(day)).length
    const mayDrop = await createDropRule(db, { written, isRequired })
    return (table) => {
      const day = dayOf(table.slice(-8))
      if (!mayDrop(day)) return false
      if (!written.has(day)) log.error({ day, table }, 'history is dropped that the archive does not have')
      return true
    }
  }

  function reportDay(report: DayReport): void {
    if ('fault' in report) log.error(report, 'a day of history could not be archived')
    else log.info(report, 'a day of history is archived')
  }
}
