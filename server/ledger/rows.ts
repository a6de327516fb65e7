import { type Columns, type RowOf, recordset } from '../db/columns.ts'

// The rows that statements of a send read as JSON. See db/columns.ts.

/** A recipient as it is claimed. The random part of `event_id` stays; its time becomes that of the outcome. */
export const CLAIMED_RECIPIENT = {
  position: 'smallint',
  event_id: 'uuid',
  email: 'text',
  kind: 'text',
} as const satisfies Columns

/** A send as its claim stores it. `recipients` is a list of CLAIMED_RECIPIENT. */
export const SEND = {
  id: 'uuid',
  account_id: 'uuid',
  created_at: 'timestamptz',
  tenant_id: 'text null',
  region: 'text',
  domain: 'text',
  request: 'json',
  recipients: 'json',
  key_scope: 'text null',
  key: 'text null',
  request_hash: 'text null',
} as const satisfies Columns

/**
 * The outcome of one recipient. `detail` begins with OUR_FAULT. `provider` is that of mailbox-provider.ts. `refusal` is
 * the kind of a refusal that counts against `address`, the recipient in its matching form. `entry` is the ENTRY that is
 * due, and `proof_of_life` says that the address took mail before: see incidents.ts.
 */
export const OUTCOME = {
  position: 'smallint',
  status: 'text',
  reason: 'text null',
  retryable: 'boolean',
  in_doubt: 'boolean',
  smtp: 'json null',
  suppression: 'json null',
  detail: 'text null',
  provider: 'text',
  refusal: 'text null',
  proof_of_life: 'boolean',
  address: 'text',
  entry: 'json null',
} as const satisfies Columns

/** How the `detail` of a recipient begins that this service could not try, beside others of its message. */
export const OUR_FAULT = 'a fault of this service: '

/** An entry that suppresses an address; without `days` for good. `evidence` is JSON of `verdict.v1.Evidence`. */
export const ENTRY = { reason: 'text', days: 'int null', evidence: 'json' } as const satisfies Columns

/** How a whole message ends. `digest` is the SHA-256, in hex, of what went out. `outcomes` is a list of OUTCOME. */
export const ENDING = {
  status: 'text',
  reason: 'text null',
  size_bytes: 'int',
  digest: 'text null',
  outcomes: 'json',
} as const satisfies Columns

export type RecipientRow = RowOf<typeof CLAIMED_RECIPIENT>
export type SendRow = RowOf<typeof SEND> & { recipients: RecipientRow[] }
export type OutcomeRow = RowOf<typeof OUTCOME>
export type EndingRow = RowOf<typeof ENDING> & { outcomes: OutcomeRow[] }

/** SQL: the rows of parameter 1 as the first CTE of a statement. */
export const inputOf = (columns: Columns): string => `
  input as materialized (
    select * from json_to_recordset($1::json) as r(
      ${recordset(columns)})
  )`
