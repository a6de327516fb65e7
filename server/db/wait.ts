import { setTimeout as sleep } from 'node:timers/promises'
import type { Readiness } from './readiness.ts'

const WAIT_MS = 30_000

/** Waits for a database that is up and migrated: processes of one deployment start in any order. Throws, with what is missing, after 30 s. */
export async function waitForDatabase(ready: () => Promise<Readiness>, report: (what: string) => void): Promise<void> {
  const giveUpAt = performance.now() + WAIT_MS
  for (let told = ''; ; await sleep(500)) {
    const missing = whatIsMissing(await ready())
    if (!missing) return
    if (performance.now() > giveUpAt) throw new Error(missing)
    if (missing !== told) report(`${missing} Waiting.`)
    told = missing
  }
}

function whatIsMissing({ database, migrations }: Readiness): string | undefined {
  if (database === 'failing') return 'The database of DATABASE_URL does not answer.'
  return migrations === 'pending' ? 'The database lacks migrations. Run `npm run migrate`.' : undefined
}
