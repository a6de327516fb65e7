import PostalMime, { type Address, decodeWords } from 'postal-mime'
import type { Reader } from './reader.ts'

// A message as readers see it, in one form for all of them.

export interface Read {
  from: Shown[]
  to: Shown[]
  cc: Shown[]
  replyTo: Shown[]
  subject: string
  messageId: string
  dateMs: number
  headers: [name: string, value: string][]
  parts: Part[]
}
export type Shown = [name: string, address: string]

export interface Part {
  type: string
  parameters: Record<string, string>
  disposition: string
  dispositionParameters: Record<string, string>
  contentId: string
  content: string
}

/** What a reader returns: header fields as they are and with their encoded words decoded, by names in lower case. */
interface ReaderMessage {
  headers: Record<string, string[]>
  decoded: Record<string, string[]>
  mailboxes: Record<string, Shown[]>
  dateMs: number
  parts: Part[]
}

export async function readBy(
  reader: Reader,
  octets: Buffer,
  customHeaders: readonly (readonly [string, string])[],
): Promise<Read> {
  const { value, refused } = await reader.ask<ReaderMessage>('message', asBase64(octets))
  if (!value) throw new Error(refused)
  const mailboxes = (name: string) =>
    (value.mailboxes[name] ?? []).map(([name, address]): Shown => [name, withoutQuotes(address)])
  return {
    from: mailboxes('from'),
    to: mailboxes('to'),
    cc: mailboxes('cc'),
    replyTo: mailboxes('reply-to'),
    subject: value.decoded.subject![0]!,
    messageId: value.headers['message-id']![0]!,
    dateMs: value.dateMs,
    headers: customHeaders.map(([name, sent]): Shown => {
      const key = name.toLowerCase()
      const read = [value.headers[key]?.[0] ?? '', value.decoded[key]?.[0] ?? '']
      // ASCII travels as it is, even where it looks like an encoded word.
      return [key, read.find((text) => text === sent.trim()) ?? read[0]!]
    }),
    parts: value.parts.map((part) => {
      const isText = part.disposition === '' && !part.type.endsWith('calendar')
      return { ...part, content: isText ? lineFeeds(Buffer.from(part.content, 'base64').toString()) : part.content }
    }),
  }
}

export async function readByPostalMime(octets: Buffer): Promise<Omit<Read, 'parts'> & Files> {
  const mail = await PostalMime.parse(octets)
  const shown = (addresses: Address[] = []) =>
    addresses.map(({ name, address = '' }): Shown => [name, withoutQuotes(address)])
  return {
    from: shown(mail.from && [mail.from]),
    to: shown(mail.to),
    cc: shown(mail.cc),
    replyTo: shown(mail.replyTo),
    subject: mail.subject ?? '',
    messageId: mail.messageId ?? '',
    dateMs: Date.parse(mail.date ?? ''),
    headers: [],
    text: mail.text && lineFeeds(mail.text),
    html: mail.html && lineFeeds(mail.html),
    files: mail.attachments.map((file) => ({
      type: file.mimeType,
      disposition: file.disposition ?? '',
      filename: file.filename ?? '',
      contentId: file.contentId ?? '',
      content: contentSeen(file.mimeType, Buffer.from(file.content as ArrayBuffer)),
    })),
  }
}

/** The parts of a message as postal-mime returns them. */
interface Files {
  text?: string
  html?: string
  files: (Pick<Part, 'type' | 'disposition' | 'contentId' | 'content'> & { filename: string })[]
}

/** postal-mime changes the line ends of a calendar. */
const contentSeen = (type: string, content: Buffer) =>
  type === 'text/calendar' ? lineFeeds(content.toString()) : asBase64(content)

export function filesOf({ parts, ...fields }: Read): Omit<Read, 'parts'> & Files {
  const bodyOf = (type: string) => parts.find((part) => part.type === type && part.disposition === '')?.content
  return {
    ...fields,
    headers: [],
    text: bodyOf('text/plain'),
    html: bodyOf('text/html'),
    files: parts
      .filter(({ type, disposition }) => disposition !== '' || type === 'text/calendar')
      .map(({ type, disposition, dispositionParameters, contentId, content }) => ({
        ...{ type, disposition, contentId, content: contentSeen(type, Buffer.from(content, 'base64')) },
        // It decodes what looks like an encoded word, even in the form of RFC 2231.
        filename: decodeWords(dispositionParameters.filename ?? ''),
      })),
  }
}

/** Go reads the spaces at the start of a folded line as one. */
export function foldedByGo(read: Read): Read {
  const { from, to, cc, replyTo, subject, headers, parts } = read
  const fold = (text: string) => text.replace(/ +/g, ' ')
  const foldFirst = (pairs: Shown[]) => pairs.map(([name, address]): Shown => [fold(name), address])
  const foldAll = (values: Record<string, string>) =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, fold(value)]))
  return {
    ...read,
    ...{ from: foldFirst(from), to: foldFirst(to), cc: foldFirst(cc), replyTo: foldFirst(replyTo) },
    subject: fold(subject),
    headers: headers.map(([name, value]) => [name, fold(value)]),
    parts: parts.map((part) => ({ ...part, parameters: foldAll(part.parameters) })),
  }
}

/** Readers differ in whether they show the quotes of a local part. */
export function withoutQuotes(address: string): string {
  const at = address.lastIndexOf('@')
  const [, quoted] = /^"(.*)"$/.exec(address.slice(0, at)) ?? []
  return quoted === undefined ? address : quoted.replace(/\\(.)/g, '$1') + address.slice(at)
}

/** The text with line feeds alone, and without those at its end: a message always ends with a line end. */
export const lineFeeds = (text: string) => text.replace(/\r\n?/g, '\n').replace(/\n+$/, '')

export function asBase64(octets: Uint8Array): string {
  return Buffer.from(octets).toString('base64')
}
