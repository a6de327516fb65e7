import { setImmediate } from 'node:timers/promises'
import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { type InboxEntry, InboxEntrySchema, type InboxService } from '../../gen/verdict/admin/v1/inbox_pb.ts'
import { accountOf } from '../caller.ts'
import { publicId, timeOfId } from '../db/ids.ts'
import { fail } from '../errors.ts'
import type { InboxMessage } from '../simulator/inbox.ts'
import type { InboxMessages } from './inbox-messages.ts'
import { type DisplayedMail, readMailAside } from './mail.ts'

/** What a page shows of a text or a source. */
const SHOWN_BYTES = 2 ** 20

export function createInboxService(messages: InboxMessages): ServiceImpl<typeof InboxService> {
  const entries = new WeakMap<InboxMessage, InboxEntry>()

  async function entryOf(accountId: string, message: InboxMessage): Promise<InboxEntry> {
    const known = entries.get(message)
    if (known) return known
    // The event loop serves all other calls between two messages.
    await setImmediate()
    const entry = describe(message, await readMailAside(accountId, message.source))
    entries.set(message, entry)
    return entry
  }

  return {
    async listInbox({ search = '' }, context) {
      const accountId = accountOf(context)
      const own = await messages.list(accountId)
      const listed: InboxEntry[] = []
      for (const message of own) {
        const entry = await entryOf(accountId, message)
        if (matches(entry, search.toLowerCase())) listed.push(entry)
      }
      return { messages: listed, total: own.length }
    },
    async getInboxMessage({ inboxId }, context) {
      const accountId = accountOf(context)
      const message = await messages.find(accountId, inboxId)
      if (!message) throw noSuchMessage(inboxId)
      return shownMessage(message, await readMailAside(accountId, message.source))
    },
    async clearInbox(_, context) {
      await messages.clear(accountOf(context))
      return {}
    },
  }
}

function shownMessage(message: InboxMessage, mail: DisplayedMail) {
  return {
    entry: describe(message, mail),
    headers: mail.headers,
    text: mail.text && cut(Buffer.from(mail.text)),
    hasHtml: mail.html !== undefined,
    attachments: mail.files.map(({ filename, contentType, content, inline }) => ({
      filename,
      contentType,
      sizeBytes: content.length,
      inline,
    })),
    source: cut(message.source),
  }
}

function describe(message: InboxMessage, { from, subject, files }: DisplayedMail): InboxEntry {
  return create(InboxEntrySchema, {
    inboxId: publicId('ibx', message.id),
    messageId: publicId('msg', message.messageId),
    from,
    recipients: message.recipients,
    subject,
    sizeBytes: message.source.length,
    attachments: files.length,
    receivedAt: timestampFromMs(timeOfId(message.id)),
  })
}

function matches({ from, subject, recipients }: InboxEntry, search: string): boolean {
  return [from, subject, ...recipients].some((text) => text.toLowerCase().includes(search))
}

function cut(bytes: Buffer): string {
  return bytes.subarray(0, SHOWN_BYTES).toString('utf8')
}

function noSuchMessage(inboxId: string) {
  return fail('not_found', `There is no message ${JSON.stringify(inboxId.slice(0, 64))} in the inbox of this account.`)
}
