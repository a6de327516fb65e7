import type { Database } from '../db/connect.ts'
import { inArray } from '../db/drizzle.ts'
import { parsePublicId } from '../db/ids.ts'
import { messages, openMessages } from '../db/schema.ts'
import type { Inbox, InboxMessage } from '../simulator/inbox.ts'

/** The messages of the simulator's inbox, by the account that sent them. */
export interface InboxMessages {
  /** The newest first. */
  list(accountId: string): Promise<InboxMessage[]>
  /** Returns undefined for a message of another account. */
  find(accountId: string, shownId: string): Promise<InboxMessage | undefined>
  clear(accountId: string): Promise<void>
}

/** The envelope names only the message, so its account is read from its row, once for each message. */
export function createInboxMessages({ db, inbox }: { db: Database; inbox: Inbox }): InboxMessages {
  const accounts = new WeakMap<InboxMessage, string>()

  async function ofAccount(accountId: string, all: InboxMessage[]): Promise<InboxMessage[]> {
    const unknown = all.filter((message) => !accounts.has(message))
    const found = await accountsOf(
      db,
      unknown.map(({ messageId }) => messageId),
    )
    for (const message of unknown) {
      const owner = found.get(message.messageId)
      if (owner) accounts.set(message, owner)
    }
    return all.filter((message) => accounts.get(message) === accountId)
  }

  const list = (accountId: string) => ofAccount(accountId, inbox.messages())
  return {
    list,
    async find(accountId, shownId) {
      const id = parsePublicId('ibx', shownId)
      const [message] = await ofAccount(
        accountId,
        inbox.messages().filter((message) => message.id === id),
      )
      return message
    },
    async clear(accountId) {
      const own = await list(accountId)
      inbox.delete(own.map(({ id }) => id))
    },
  }
}

/** The accounts of messages, whether their sends have ended or not. */
async function accountsOf(db: Database, ids: string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map()
  const open = db.select({ id: openMessages.id, accountId: openMessages.accountId }).from(openMessages)
  const ended = db.select({ id: messages.id, accountId: messages.accountId }).from(messages)
  const rows = await open.where(inArray(openMessages.id, ids)).unionAll(ended.where(inArray(messages.id, ids)))
  return new Map(rows.map(({ id, accountId }) => [id, accountId]))
}
