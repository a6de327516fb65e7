import { domainOf, lowerAscii } from '../../mail/address.ts'
import { decodeWords } from '../../mail/mime/encoded-words.ts'
import { beforeReply } from './quoted-reply.ts'
import { fieldValues, readFields } from './report-fields.ts'

// The text for people in a bounce: what it says of each recipient, up to the copy of the message.

/** Where the copy of the message, or its headers, begin. */
const COPY =
  /^[ \t>]*(?:-{3,}(?!.{0,10}server message).{0,40}(?:copy|below|original|returned|message|header|nachricht|mensaje|messaggio|mensagem|bericht)|-{1,2} ?(?:this is a copy|below|original|returned|message original|the header|forwarded)|(?:original|returned) message|(?:below|here) (?:is|are) (?:a|the) (?:copy|first|header)|message headers? follow|original message headers|received: ?|return-path: ?|reporting-mta: |content-type: ?|x-mailer: |date: .{5,40}\d\d:\d\d:\d\d)/i
const BULLET = /^(?:[-*•]{1,3}|>{3}|<{3})\s{1,8}/
/** A line of the message; `>>>` begins a line of a dialogue. */
const QUOTATION = /^\s*>(?!>>(?:\s|$))/
const MAX_LINES = 400
const MAX_ADDRESSES = 100
const ADDRESS = /[^\s<>()[\]"',;:=@][^\s<>()[\]",;:=@]{0,63}@[a-z0-9.-]{1,253}[a-z0-9]/gi

/** What a notice shows of the message's subject, which the sender wrote. */
const SUBJECT = /^(?:subject|betreff|objet|sujet|asunto|oggetto|assunto|onderwerp|temat|тема|件名|主题)\s?:/i

/** The lines of the notice without indentation, and without what the sender wrote: the message, and its subject. */
export function noticeOf(text: string, copy = ''): string[] {
  const lines = withoutFields(text.split(/\r?\n/).slice(0, MAX_LINES))
  const end = lines.findIndex((line, i) => i > 0 && COPY.test(line))
  const notice = end < 0 ? lines : lines.slice(0, end)
  const isWritten = writtenIn(`${copy}\n\n${lines.slice(notice.length).join('\n')}`)
  return withoutSubject(notice)
    .filter((line) => !QUOTATION.test(line) && !isWritten(line.trim()))
    .map((line) => line.trim().replace(BULLET, ''))
}

/** A subject goes on in the lines below it that are further to the right. */
function withoutSubject(lines: string[]): string[] {
  let subject = Number.POSITIVE_INFINITY
  return lines.filter((line) => {
    const indentation = line.search(/\S/)
    if (SUBJECT.test(line.trim())) subject = indentation
    else if (indentation <= subject) subject = Number.POSITIVE_INFINITY
    return subject === Number.POSITIVE_INFINITY
  })
}

/** Whether the message has this line, or its subject is what a label introduces. A line with an address stays. */
function writtenIn(copy: string): (line: string) => boolean {
  const subjects = fieldValues(readFields(copy).flat(), 'subject').map(decodeWords)
  const written = new Set(
    [...copy.split(/\r?\n/).map((line) => line.trim()), ...subjects].filter((line) => line !== ''),
  )
  return (line) => !line.includes('@') && [line, line.replace(LABEL, '')].some((each) => written.has(each))
}

const LABEL = /^[^:：]{1,40}[:：]\s{0,8}/

/** The line before a paragraph that shows fields of the message, as of Oracle's server. */
const FIELDS_FOLLOW = /following header fields:?\s*$/i

function withoutFields(lines: string[]): string[] {
  const start = lines.findIndex((line) => FIELDS_FOLLOW.test(line)) + 1
  if (start === 0) return lines
  const isBlank = (line: string) => line.trim() === ''
  const end = lines.findIndex((line, i) => isBlank(line) && !lines.slice(start, i).every(isBlank))
  return end < 0 ? lines : lines.toSpliced(start, end - start)
}

export interface Passage {
  /** The address that failed, or what the notice has in its place, such as a program. */
  address: string
  /** The address of the alias, the list or the forwarder whose member failed. */
  from?: string
  /** Other addresses on its line: nothing says which of them failed. */
  beside: string[]
  /** From the address on, up to the next address or the end of the notice. */
  lines: string[]
}

const SENDER = /\bmail from ?:\s?\S{1,400}/gi
const EXPANDED = /\b(?:expanded|generated) (?:from|by):? {0,4}<?([^\s<>()]{1,64}@[a-z0-9.-]{1,253}[a-z0-9])>?/i

/** What the notice says of each address in it, but for ours and those that every notice may name. */
export function passagesOf(notice: string[], ours: readonly string[]): Passage[] {
  const passages = new Map<string, Passage>()
  const addressesIn = (text: string) => new Set((text.match(ADDRESS) ?? []).map(lowerAscii).filter(isOther))
  // The ids of our messages have the domain of the return path.
  const [returnPath = ''] = ours.map(lowerAscii)
  const isOther = (address: string) => domainOf(address) !== domainOf(returnPath) && !OF_SYSTEMS.test(address)
  const isInRepliesOnly = !notice.some((line) => addressesIn(beforeReply(line)).size > 0)
  let current: Passage | undefined
  let paragraph: string[] = []
  let isNamed = false
  const begin = (address: string, lines: string[] = []) => {
    if (passages.size >= MAX_ADDRESSES && !passages.has(address)) return
    current = passages.get(address) ?? { address, beside: [], lines }
    passages.set(address, current)
    isNamed = true
  }
  for (const line of notice) {
    const [, from] = EXPANDED.exec(line) ?? []
    const own = line.replace(EXPANDED, '').replace(SENDER, '')
    const named = addressesIn(beforeReply(own))
    // An address within a reply begins a passage only when the reporter names it too, or names none anywhere.
    const isKnown = (each: string) => isInRepliesOnly || passages.has(each)
    const [address = [...addressesIn(own)].find(isKnown), ...beside] = named
    if (address !== undefined) begin(address)
    else if (from !== undefined && !isNamed) begin(paragraph[0] ?? '', [...paragraph])
    if (current && from !== undefined) current.from = lowerAscii(from)
    current?.beside.push(...beside)
    current?.lines.push(line)
    if (line === '') [paragraph, isNamed] = [[], false]
    else paragraph.push(line)
  }
  return [...passages.values()]
}

const OF_SYSTEMS = /^(?:mailer-daemon|postmaster|abuse|support|helpdesk)@/
