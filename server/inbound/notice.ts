import { lowerAscii } from '../../mail/address.ts'

// The text for people in a bounce: what it says of each recipient, up to the copy of the message.

/** Where the copy of the message, or its headers, begin. */
const COPY =
  /^[ \t>]*(?:-{3,}(?!.{0,10}server message).{0,40}(?:copy|below|original|returned|message|header|nachricht|mensaje|messaggio|mensagem|bericht)|-{1,2} ?(?:this is a copy|below|original|returned|message original|the header|forwarded)|(?:original|returned) message|(?:below|here) (?:is|are) (?:a|the) (?:copy|first|header)|message headers? follow|original message headers|received: ?|return-path: ?|reporting-mta: |content-type: ?|x-mailer: |date: .{5,40}\d\d:\d\d:\d\d)/i
const BULLET = /^(?:[-*•>]{1,3}|<{3})\s{1,8}/
const MAX_LINES = 400
const MAX_ADDRESSES = 100
const ADDRESS = /[^\s<>()[\]"',;:=@][^\s<>()[\]",;:=@]{0,63}@[a-z0-9.-]{1,253}[a-z0-9]/gi

/** What a notice shows of the message's subject, which the sender wrote. */
const SUBJECT = /^(?:subject|betreff|objet|sujet|asunto|oggetto|assunto|onderwerp|temat|тема|件名|主题)\s?:/i

/** The lines of the notice, without those of the copy, without the message's subject and without indentation. */
export function noticeOf(text: string): string[] {
  const lines = withoutFields(text.split(/\r?\n/).slice(0, MAX_LINES))
  const end = lines.findIndex((line, i) => i > 0 && COPY.test(line))
  const own = (end < 0 ? lines : lines.slice(0, end)).map((line) => line.trim().replace(BULLET, ''))
  return own.filter((line) => !SUBJECT.test(line))
}

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
  address: string
  /** From the address on, up to the next address or the end of the notice. */
  lines: string[]
}

/** What the notice says of each address in it. Addresses that `isOurs` knows are the sender's. */
export function passagesOf(notice: string[], isOurs: (address: string) => boolean): Passage[] {
  const passages = new Map<string, string[]>()
  let current: string[] | undefined
  for (const line of notice) {
    const address = (line.match(ADDRESS) ?? []).map((each) => lowerAscii(each)).find((each) => !isOurs(each))
    if (address !== undefined && passages.size < MAX_ADDRESSES) {
      current = passages.get(address) ?? []
      passages.set(address, current)
    }
    current?.push(line)
  }
  return [...passages].map(([address, lines]) => ({ address, lines }))
}
