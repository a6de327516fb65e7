import { expect, test } from 'vitest'
import { run } from '../../server/db/statement.ts'
import { testDatabase } from '../harness/postgres.ts'

// What is unique over all accounts: with several cells it would have to be decided in one place, or belong to a cell.

const database = await testDatabase()

/** Cells would have to share these: an account or a person of another cell may have the value. */
const OF_ALL_ACCOUNTS = {
  api_keys_hash:
    'which account a key belongs to: directory/keys.ts. The name of the cell in the key answers for all cells',
  domains_verified_name: 'an account that verifies a name takes it from the others: directory/verified-names.ts',
  people_email: 'a person has one sign-in for all accounts: access/people/',
  credentials_identity: 'an identity at an issuer is one person: access/people/oidc/',
}

/** Each cell has its own: the value is random, or is that of this database or of its machines. */
const OF_A_CELL = {
  sessions_token: 'random; a session is of one dashboard',
  invitations_token: 'random; the link names the dashboard',
  rate_windows_pkey: 'named by the id of an account or of a person',
  address_warm_ups_address_provider_pk: 'the sending addresses of its machines',
  site_books_address_site_pk: 'the sending addresses of its machines',
  leases_pkey: 'one erasure of a database at a time',
  cell_pkey: 'its name',
  event_orders_pkey: 'its clusters',
  bad_hours_provider: 'what its own accounts saw at a provider',
  primary_heartbeat_pkey: 'its readiness',
}

// Ids are UUIDs with at least 74 random bits, so an index that has one is unique over all cells. One with `account_id`
// is unique in an account. `suppressions_email` is such an index, too: the operator's entries are of the account
// EVERYBODY, and each cell has its own, because a send reads them in the same statement as its account's.
const OTHERS = `
  select i.relname as name
  from pg_index x join pg_class c on c.oid = x.indrelid join pg_class i on i.oid = x.indexrelid
  where x.indisunique and c.relnamespace = 'public'::regnamespace and not c.relispartition
    and not exists (
      select from pg_attribute a
      where a.attrelid = i.oid and (a.attname = 'account_id' or a.atttypid = 'uuid'::regtype))
  order by 1`

test('whatever is unique without an account or an id is judged here: cells would share it, or each has its own', async () => {
  const rows = await run<{ name: string }>(database.db, OTHERS)
  const judged = Object.keys({ ...OF_ALL_ACCOUNTS, ...OF_A_CELL })
  expect(rows.map(({ name }) => name)).toEqual(judged.toSorted())
})
