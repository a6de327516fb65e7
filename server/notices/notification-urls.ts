import { changeAs, type Requester } from '../access/audit/change-as.ts'
import { record } from '../access/audit/record-change.ts'
import type { Database } from '../db/connect.ts'
import { eq } from '../db/drizzle.ts'
import type { Sealer } from '../db/encryption.ts'
import { lockAccount } from '../db/lock-account.ts'
import { notificationUrls } from '../db/people-schema.ts'

/** The URL that gets the notifications of an account. */
export interface NotificationUrls {
  /** Scheme and host: the path is a secret. undefined without a URL. */
  find(accountId: string): Promise<{ origin: string; createdAt: Date } | undefined>
  /** The whole URL. */
  open(accountId: string): Promise<string | undefined>
  /** Sets a URL, whose text was checked, or removes it. */
  set(accountId: string, url: string | undefined, requester: Requester): Promise<void>
}

export function createNotificationUrls({ db, sealer }: { db: Database; sealer: Sealer }): NotificationUrls {
  const placeOf = (accountId: string) => ({ table: 'notification_urls', column: 'url', id: accountId })

  async function read(accountId: string) {
    const [row] = await db.select().from(notificationUrls).where(eq(notificationUrls.accountId, accountId))
    return row
  }

  return {
    async find(accountId) {
      const row = await read(accountId)
      return row && { origin: row.origin, createdAt: row.createdAt }
    },
    async open(accountId) {
      const row = await read(accountId)
      return row && sealer.open(row.url, placeOf(accountId)).toString()
    },
    set: (accountId, url, requester) =>
      changeAs(db, requester, async (tx, author) => {
        await lockAccount(tx, accountId)
        const [removed] = await tx.delete(notificationUrls).where(eq(notificationUrls.accountId, accountId)).returning()
        if (url === undefined) {
          if (!removed) return
          await record(tx, { ...author, action: 'notification_url.remove', target: removed.origin })
          return
        }
        const { origin } = new URL(url)
        const sealed = sealer.seal(Buffer.from(url), placeOf(accountId))
        await tx.insert(notificationUrls).values({ accountId, url: sealed, origin })
        await record(tx, { ...author, action: 'notification_url.set', target: origin })
      }),
  }
}
