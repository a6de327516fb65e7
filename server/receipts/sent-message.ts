import { createCollector } from '../db/collector.ts'
import type { Database } from '../db/connect.ts'
import { stepInTime } from '../db/outage.ts'
import { idsAndBounds, inMs, run, UNPREPARED } from '../db/statement.ts'
import type { SentMessage, SentRecipient } from './claims.ts'

export interface StoredMessage {
  message: SentMessage
  recipients: SentRecipient[]
}

type MessageRow = SentMessage & { accountId: string }
type RecipientRow = SentRecipient & { messageId: string }

/** The parameters are those of `idsAndBounds`. */
const IDS = 'between $2 and $3'
const MESSAGES = `
  select id, account_id as "accountId", domain, request ->> 'from' as from, sandbox, digest,
    ${inMs('completed_at')} as "completedAtMs"
  from messages where id = any($1) and id ${IDS}`
const RECIPIENTS = `
  select message_id as "messageId", email, kind, status, reason, in_doubt as "inDoubt", smtp
  from recipients where message_id = any($1) and message_id ${IDS} order by message_id, position`

/**
 * Reads what a receipt states of a message of the account from history: undefined while its send runs, or when there is
 * no such message. Two statements serve all requests that ask at the same moment.
 */
export function createReadSentMessage(
  db: Database,
): (accountId: string, id: string) => Promise<StoredMessage | undefined> {
  const read = createCollector<{ json: string }, (StoredMessage & { accountId: string }) | undefined>(
    async (requests) => {
      const parameters = idsAndBounds(requests.map(({ json }) => json))
      const [messages, recipients] = await Promise.all([
        run<MessageRow>(db, MESSAGES, parameters, UNPREPARED),
        run<RecipientRow>(db, RECIPIENTS, parameters, UNPREPARED),
      ])
      const messageById = new Map(messages.map((message) => [message.id, message]))
      const recipientsById = Map.groupBy(recipients, ({ messageId }) => messageId)
      return requests.map(({ json: id }) => {
        const message = messageById.get(id)
        return message && { accountId: message.accountId, message, recipients: recipientsById.get(id) ?? [] }
      })
    },
    { note: db.noteBatch('stored_messages'), groupOf: ({ json }) => json },
  )
  return async (accountId, id) => {
    const stored = await stepInTime(db, read({ json: id }))
    return stored?.accountId === accountId ? stored : undefined
  }
}
