import { daysOf } from '../../server/archive/days.ts'
import { oldDays } from '../../server/archive/due-days.ts'
import { openStore } from '../../server/archive/open-store.ts'
import { type DoctorCheck, firstOf, ok, onTables, skipped, warning } from './check.ts'

/** The daily run may not have come to them yet. */
const MOST_MISSING = 1

export const archive: DoctorCheck = {
  name: 'archive',
  about: 'the archive of `HISTORY_ARCHIVE` can be read, and has the days that are old enough for it',
  reads: ['DATABASE_URL', 'HISTORY_ARCHIVE'],
  run: onTables(async (db, { config: { historyArchive } }) => {
    if (!historyArchive) return skipped('HISTORY_ARCHIVE is not set')
    using store = await openStore(historyArchive)
    let days: string[]
    try {
      days = await daysOf(store)
    } catch (error) {
      return warning(
        `${store.name} cannot be read: ${(error as Error).message}`,
        'Mend it within a week: docs/archive.md.',
      )
    }
    const missing = (await oldDays(db)).filter((day) => !days.includes(day))
    const seen = days.length === 0 ? 'it is empty' : `its newest day of ${days.length} is ${days.at(-1)}`
    if (missing.length <= MOST_MISSING) return ok(seen)
    return warning(`${seen}; it lacks ${firstOf(missing)}`, 'Look at the log of the worker: docs/archive.md.')
  }),
}
