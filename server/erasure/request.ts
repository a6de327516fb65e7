import type { StoredRequest } from '../db/json-columns.ts'
import { ERASED_TEXT, mapStrings, type Wanted } from './spellings.ts'

/**
 * The stored request of a message without the address. Of a message to the address, the texts go as a whole: subject,
 * contents, values of header fields and file names, whoever else received it. Elsewhere the address alone is replaced.
 */
export function eraseRequest(request: StoredRequest, wanted: Wanted): StoredRequest {
  const isTo = [...request.to, ...(request.cc ?? []), ...(request.bcc ?? [])].some(wanted.isIt)
  const replaced = mapStrings(request, wanted.replaceIn) as StoredRequest
  const replyTo = request.reply_to && splitMailboxes(request.reply_to).map(wanted.replaceIn).join(', ')
  const kept = replyTo === undefined ? replaced : { ...replaced, reply_to: replyTo }
  if (!isTo) return kept
  const { html, text, ...rest } = kept
  return {
    ...rest,
    subject: ERASED_TEXT,
    headers: kept.headers.map(([name]) => [name, ERASED_TEXT]),
    attachments: kept.attachments.map((file) => ({ ...file, filename: ERASED_TEXT })),
  }
}

/** Splits at the commas outside quotes. */
const splitMailboxes = (text: string): string[] => text.split(/,\s*(?=(?:[^"]*"[^"]*")*[^"]*$)/)
