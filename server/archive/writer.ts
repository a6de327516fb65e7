import { setPriority } from 'node:os'
import { readVariables } from '../config/config.ts'
import { connect } from '../db/connect.ts'
import { archiveDay } from './archive-day.ts'
import { daysOf } from './days.ts'
import { oldDays } from './due-days.ts'
import { withArchive } from './open.ts'
import type { DayReport } from './write-old-days.ts'

// The process of `writeOldDays`. Its environment is that of the worker.

const LOWEST_PRIORITY = 19
/** A day may have a hundred million rows, and its connection is idle while DuckDB works. */
const STATEMENT_MS = 3_600_000
/** No day begins later: the daily run is to end within an hour, and the next one goes on. */
const BEGIN_WITHIN_MS = 2_400_000

const tell = process.send?.bind(process)
if (!tell) throw new Error('only the worker starts the writer of the archive')
setPriority(LOWEST_PRIORITY)
// The worker is gone.
const end = () => process.exit(1)
process.on('disconnect', end)
const reading = readVariables(process.env, ['databaseUrl', 'historyArchive'])
if ('faults' in reading) throw new Error(reading.faults.map(({ name, why }) => `${name} ${why}`).join('; '))
const { databaseUrl, historyArchive } = reading.variables
const db = connect(databaseUrl, { connections: 2, statementMs: STATEMENT_MS })
try {
  await withArchive(historyArchive!, async (parts) => {
    const written = await daysOf(parts.store)
    const isInTime = () => performance.now() < BEGIN_WITHIN_MS
    for (const day of await oldDays(db)) if (!written.includes(day) && isInTime()) tell(await write(day))

    async function write(day: string): Promise<DayReport> {
      try {
        const tables = Object.values((await archiveDay({ db, ...parts }, day)).tables)
        const sum = (field: 'rows' | 'bytes') => tables.reduce((total, facts) => total + facts[field], 0)
        return { day, rows: sum('rows'), bytes: sum('bytes') }
      } catch (error) {
        return { day, fault: error instanceof Error ? error.message : String(error) }
      }
    }
  })
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
} finally {
  await db.$client.end({ timeout: 1 })
  // Also that of dev/end-with-parent.ts, which is inherited from the worker of npm start.
  process.removeAllListeners('disconnect')
  process.disconnect?.()
}
