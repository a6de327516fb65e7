import { InboxService } from '../../gen/verdict/admin/v1/inbox_pb.ts'
import { safeFilename } from '../../mail/mime/filename.ts'
import type { Database } from '../db/connect.ts'
import { and, eq } from '../db/drizzle.ts'
import { parsePublicId } from '../db/ids.ts'
import { messages } from '../db/schema.ts'
import { frameHtml } from './frame-html.ts'
import type { InboxMessages } from './inbox-messages.ts'
import { readMailAside } from './mail.ts'

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
      const mail = message && (await readMailAside(accountId, message.source))
      return mail?.html === undefined ? undefined : frameHtml(mail.html, mail.files)
    },

    async inboxFile(accountId: string, inboxId: string, index: number) {
      const message = await inbox?.find(accountId, inboxId)
      const mail = message && (await readMailAside(accountId, message.source))
      const file = mail?.files[index]
      return file && { filename: safeFilename(file.filename), content: file.content }
    },

    async inboxSource(accountId: string, inboxId: string) {
      const message = await inbox?.find(accountId, inboxId)
      return message && { filename: `${inboxId}.eml`, content: message.source }
    },
  }
}

/** The paths of the frames, below /dashboard/frame. */
export function framePaths({ storedHtml, inboxHtml, inboxFile, inboxSource }: ReturnType<typeof createFrames>) {
  type Given = Record<string, string>
  return {
    method: InboxService.method.getInboxMessage,
    pages: {
      '/messages/:account/:id': (accountId: string, { id = '' }: Given) => storedHtml(accountId, id),
      '/inbox/:account/:id': (accountId: string, { id = '' }: Given) => inboxHtml(accountId, id),
    },
    downloads: {
      '/inbox/:account/:id/source.eml': (accountId: string, { id = '' }: Given) => inboxSource(accountId, id),
      '/inbox/:account/:id/attachments/:index': async (accountId: string, { id = '', index = '' }: Given) =>
        /^\d{1,4}$/.test(index) ? inboxFile(accountId, id, Number(index)) : undefined,
    },
  }
}
