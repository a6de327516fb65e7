import { safeFilename } from '../../mail/mime/filename.ts'
import type { Database } from '../db/connect.ts'
import { and, eq } from '../db/drizzle.ts'
import { parsePublicId } from '../db/ids.ts'
import { messages } from '../db/schema.ts'
import { frameHtml } from './frame-html.ts'
import type { InboxMessages } from './inbox-messages.ts'
import { readMail } from './mail.ts'

/** The content of messages for frames and downloads. Without an inbox only stored html is there. */
export function createFrames({ db, inbox }: { db: Database; inbox: InboxMessages | undefined }) {
  return {
    async storedHtml(accountId: string, messageId: string) {
      const id = parsePublicId('msg', messageId)
      if (!id) return undefined
      const isOwn = and(eq(messages.id, id), eq(messages.accountId, accountId))
      const [row] = await db.select({ request: messages.request }).from(messages).where(isOwn)
      // Attachments are not stored, so images by Content-ID do not show.
      return row?.request.html === undefined ? undefined : frameHtml(row.request.html)
    },

    async inboxHtml(accountId: string, inboxId: string) {
      const message = await inbox?.find(accountId, inboxId)
      const mail = message && (await readMail(message.source))
      return mail?.html === undefined ? undefined : frameHtml(mail.html, mail.files)
    },

    async inboxFile(accountId: string, inboxId: string, index: number) {
      const message = await inbox?.find(accountId, inboxId)
      const mail = message && (await readMail(message.source))
      const file = mail?.files[index]
      return file && { filename: safeFilename(file.filename), content: file.content }
    },

    async inboxSource(accountId: string, inboxId: string) {
      const message = await inbox?.find(accountId, inboxId)
      return message && { filename: `${inboxId}.eml`, content: message.source }
    },
  }
}
