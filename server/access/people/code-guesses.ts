import type { Database } from '../../db/connect.ts'
import { run } from '../../db/statement.ts'

/** Codes in a row that may be wrong, and then how long the person waits: NIST SP 800-63B 5.2.2. */
const MOST = 10
const LOCKED_SECONDS = 15 * 60

/**
 * Counts a code of a sign-in as wrong, before it is compared: better-auth counts afterwards, and codes that come at one
 * moment would all be compared. Returns false when ten were wrong in a row, over all processes: then none is compared.
 */
export async function countGuess(db: Database, personId: string): Promise<boolean> {
  const [found] = await run<{ counted: boolean }>(db, COUNT, [personId, MOST, LOCKED_SECONDS])
  // Without a second factor there is nothing to guess.
  return found?.counted ?? true
}

const COUNT = `
  with counted as (
    update second_factors set
      failed_verification_count = case when locked_until is null then failed_verification_count + 1 else 1 end,
      locked_until = case when locked_until is null and failed_verification_count + 1 >= $2
        then now() + $3 * interval '1 second' end
      where person_id = $1 and (locked_until is null or locked_until <= now())
      returning id)
  select exists (select from counted) as counted from second_factors where person_id = $1`

/** A right code ends the row of wrong ones. */
export async function forgetGuesses(db: Database, personId: string): Promise<void> {
  await run(db, 'update second_factors set failed_verification_count = 0, locked_until = null where person_id = $1', [
    personId,
  ])
}
