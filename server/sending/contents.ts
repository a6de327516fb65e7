import { otherMethod } from '../../mail/mime/calendar.ts'
import { textOfHtml } from '../../mail/mime/html-text.ts'
import { type RawBody, type RawHeader, readRawBody } from '../../mail/mime/raw/read-raw.ts'
import { bufferOf } from '../../net/bytes.ts'
import { inThreadIfLarge } from '../async/threads.ts'

/** The parts of a request that must be read octet by octet. */
export interface Given {
  raw?: { source: Uint8Array; header: RawHeader }
  /** HTML whose text is wanted. */
  html?: string
  /** Invitations, with the method in their media type. */
  calendars: { content: Uint8Array; method: string }[]
}

/** What was read. */
export interface Contents {
  raw?: RawBody | { fault: string }
  /** The text of the HTML. */
  text?: string
  /** The METHOD in each calendar that is not that of its media type. */
  otherMethods: (string | undefined)[]
}

export function readContents({ raw, html, calendars }: Given): Contents {
  return {
    raw: raw && readRawBody(bufferOf(raw.source), raw.header),
    text: html === undefined ? undefined : textOfHtml(html),
    otherMethods: calendars.map(({ content, method }) => otherMethod(content, method)),
  }
}

/** Reads large contents in a thread, where accounts take turns. */
export const readContentsAside = inThreadIfLarge(import.meta.url, readContents)
