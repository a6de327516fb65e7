import { breaks } from '../db/collector.ts'
import { type Columns, type RowOf, recordset } from '../db/columns.ts'

// The keys of messages that came over SMTP. Few programs give an idempotency key, so the message itself is one: each
// recipient of a message has its own keys, because a repeat may name some of them only. The commit that claims or
// settles the first message takes its keys, and a release frees them. What retries a recipient is in the table
// `retries`.

/** SQL: how long a key lives after its last message. */
export const KEY_LIFE = `interval '24 hours'`

const RECIPIENT_KEY = { key: 'text', position: 'smallint' } as const satisfies Columns

/** The column of a statement's rows that `takeRecipientKeysOf` reads: a list of RECIPIENT_KEY. */
export const RECIPIENT_KEYS = { recipient_keys: 'json null' } as const satisfies Columns

/** `keys` are SHA-256 in hex: those of each recipient of the send, in their order. */
export function recipientKeyRows(keys: readonly string[][] | undefined): RowOf<typeof RECIPIENT_KEY>[] | undefined {
  return keys?.flatMap((own, position) => own.map((key) => ({ key, position })))
}

/**
 * SQL: the CTE that takes the keys of the sends in the CTE `sends`. When one is taken already, the statement fails and
 * changes nothing: see `isKeyTaken`.
 */
export const takeRecipientKeysOf = (sends: string) => `
  taken_recipient_key as (
    insert into recipient_keys (account_id, key, message_id, position, expires_at)
    select s.account_id, decode(k.key, 'hex'), s.id, k.position, now() + ${KEY_LIFE}
    from ${sends} s cross join lateral json_to_recordset(s.recipient_keys) as k(${recordset(RECIPIENT_KEY)})
    order by 1, 2
  )`

/** Whether a statement failed because another message has taken the key of a recipient. */
export const isKeyTaken = (error: unknown): boolean => breaks(error, PRIMARY_KEY)

const PRIMARY_KEY = 'recipient_keys_account_id_key_pk'
