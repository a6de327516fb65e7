import type { Database } from '../db/connect.ts'
import { stepInTime } from '../db/outage.ts'
import { inMs, run } from '../db/statement.ts'
import { KEY_LIFE } from '../ledger/recipient-keys.ts'
import { createKeyLookup } from '../sending/key-lookup.ts'

/** The last message to a recipient that has a key, and the recipient's position in it. */
export interface KeyHolder {
  messageId: string
  position: number
  /** What is left of the lease of a running send. null when the send is in history. */
  leaseLeftMs: number | null
}

// A key that is over is deleted here, because the claim that takes it anew expects that there is none.
export const FIND_RECIPIENT_KEYS = `
  with recursive wanted as materialized (
    select n::int, account_id, decode(key, 'hex') as key
    from rows from (json_to_recordset($1::json) as (account_id uuid, key text)) with ordinality as q(account_id, key, n)
  ),
  expired as (
    delete from recipient_keys k using wanted w
    where k.account_id = w.account_id and k.key = w.key and k.expires_at <= now()
  ),
  chain as (
    select w.n, k.message_id, k.position from wanted w
    join recipient_keys k on k.account_id = w.account_id and k.key = w.key and k.expires_at > now()
    union all
    select c.n, r.message_id, r.position from chain c
    join retries r on r.retried_id = c.message_id and r.retried_position = c.position
  )
  select c.n, c.message_id as "messageId", c.position::int,
    ${inMs('o.lease_until - clock_timestamp()')} as "leaseLeftMs"
  from chain c left join open_messages o on o.id = c.message_id
  where not exists (select from retries r where r.retried_id = c.message_id and r.retried_position = c.position)`

/** The last retry of a message to a recipient, or the message itself. A message that was released is nowhere. */
export const FIND_LAST_RETRY = `
  with recursive chain as (
    select $1::uuid as message_id, $2::smallint as position
    union all
    select r.message_id, r.position from chain c
    join retries r on r.retried_id = c.message_id and r.retried_position = c.position
  )
  select c.message_id as "messageId", c.position::int,
    ${inMs('o.lease_until - clock_timestamp()')} as "leaseLeftMs"
  from chain c left join open_messages o on o.id = c.message_id
  where not exists (select from retries r where r.retried_id = c.message_id and r.retried_position = c.position)
    and (o.id is not null or exists (select from recipients p where p.message_id = c.message_id))`

/** In one order: two mails may have the same keys. */
const LOCKED_KEYS = `(
    select key from recipient_keys
    where account_id = $1 and key in (select decode(value, 'hex') from json_array_elements_text($2::json))
    order by key for update
  ) mine`

export const RENEW_RECIPIENT_KEYS = `
  update recipient_keys k set expires_at = now() + ${KEY_LIFE}
  from ${LOCKED_KEYS}
  where k.account_id = $1 and k.key = mine.key`

export const GIVE_RECIPIENT_KEYS = `
  insert into recipient_keys (account_id, key, message_id, position, expires_at)
  select $1::uuid, decode(q.key, 'hex'), q.message_id, q.position, now() + q.hours * interval '1 hour'
  from json_to_recordset($2::json) as q(key text, message_id uuid, position smallint, hours int)
  order by 1, 2
  on conflict (account_id, key) do update
    set message_id = excluded.message_id, position = excluded.position, expires_at = excluded.expires_at`

export const TAKE_RECIPIENT_KEYS_AWAY = `
  delete from recipient_keys k using ${LOCKED_KEYS}
  where k.account_id = $1 and k.key = mine.key`

/** A key that a recipient of a message is given after its claim. */
export interface GivenKey {
  key: string
  holder: Pick<KeyHolder, 'messageId' | 'position'>
  /** How long it lives. */
  hours: number
}

export function createHeldKeys(db: Database) {
  const findOne = createKeyLookup<KeyHolder>(db, FIND_RECIPIENT_KEYS)
  return {
    /** Returns the holder of a key. */
    find: (accountId: string, key: string): Promise<KeyHolder | undefined> => findOne({ account_id: accountId, key }),

    /** Returns the last retry of a holder, or the holder; undefined when it was released. */
    async follow({ messageId, position }: KeyHolder): Promise<KeyHolder | undefined> {
      const [last] = await stepInTime(db, run<KeyHolder>(db, FIND_LAST_RETRY, [messageId, position]))
      return last
    },

    /** Each new message renews its keys. A retry takes none: it does so before it starts. */
    async renew(accountId: string, keys: readonly string[]): Promise<void> {
      if (keys.length > 0) await stepInTime(db, run(db, RENEW_RECIPIENT_KEYS, [accountId, JSON.stringify(keys)]))
    },

    async takeAway(accountId: string, keys: readonly string[]): Promise<void> {
      if (keys.length > 0) await stepInTime(db, run(db, TAKE_RECIPIENT_KEYS_AWAY, [accountId, JSON.stringify(keys)]))
    },

    /** Gives keys to recipients of messages. A key that another message has changes its holder. */
    async give(accountId: string, given: readonly GivenKey[]): Promise<void> {
      if (given.length === 0) return
      const rows = given.map(({ key, hours, holder: { messageId, position } }) => {
        return { key, message_id: messageId, position, hours }
      })
      await stepInTime(db, run(db, GIVE_RECIPIENT_KEYS, [accountId, JSON.stringify(rows)]))
    },
  }
}
