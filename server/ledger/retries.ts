import { breaks } from '../db/collector.ts'
import { type Columns, type RowOf, recordset } from '../db/columns.ts'

// A recipient of a message can be retried once. The row of the table `retries` is the key to it: the commit that claims
// or settles the new message takes it, and a release frees it. Sends that retry nothing run other statements, which do
// not know the table.

/** What the recipients of a send retry. The ids are UUIDs. */
export interface Retry {
  /** The retried message, and the first message of its chain. */
  retriedId: string
  firstId: string
  /** One for each recipient of the send, in their order. */
  recipients: RetriedRecipient[]
}

export interface RetriedRecipient {
  /** The recipient's position in the retried message. */
  position: number
  /** The position that the envelope sender names: that of the domain's first recipient in the first message. */
  senderPosition: number
}

const RETRY = {
  retried_id: 'uuid',
  retried_position: 'smallint',
  position: 'smallint',
  first_id: 'uuid',
  sender_position: 'smallint',
} as const satisfies Columns

/** The column of a statement's rows that `takeRetriesOf` reads: a list of RETRY. */
export const RETRIES = { retries: 'json null' } as const satisfies Columns

export function retryRows({ retry }: { retry?: Retry }): RowOf<typeof RETRY>[] | undefined {
  return retry?.recipients.map(({ position, senderPosition }, i) => ({
    retried_id: retry.retriedId,
    retried_position: position,
    position: i,
    first_id: retry.firstId,
    sender_position: senderPosition,
  }))
}

/**
 * SQL: the CTE that takes the retries of the sends in the CTE `sends`. When one is taken already, the statement fails
 * and changes nothing: see `isTaken`.
 */
export const takeRetriesOf = (sends: string) => `
  taken_retry as (
    insert into retries (account_id, retried_id, retried_position, message_id, position, first_id, sender_position)
    select s.account_id, r.retried_id, r.retried_position, s.id, r.position, r.first_id, r.sender_position
    from ${sends} s cross join lateral json_to_recordset(s.retries) as r(
      ${recordset(RETRY)})
    order by r.retried_id, r.retried_position
  )`

/** Whether a statement failed because another message has retried a recipient. */
export const isTaken = (error: unknown): boolean => breaks(error, PRIMARY_KEY)

const PRIMARY_KEY = 'retries_retried_id_retried_position_pk'
