import { diagnose, type FailedRecipient } from './diagnosis.ts'
import { phaseIn } from './dsn.ts'
import type { Parts } from './parts.ts'

// Reports that consist only of text for people: those of qmail, and of Exim before it supported RFC 3464.

const MAX_RECIPIENTS = 100

export function readPlainTextBounce(parts: Parts): FailedRecipient[] {
  if (parts.text.startsWith('Hi. This is the ')) return readQmail(parts)
  return readExim(parts)
}

/** QSBMF: paragraphs that begin with `<recipient>:`, up to a line of hyphens before the original message. */
function readQmail({ text }: Parts): FailedRecipient[] {
  const [notice = ''] = text.split(/^--/m, 1)
  const paragraphs = notice.split(/\r?\n[ \t]*\r?\n/).slice(0, MAX_RECIPIENTS)
  return paragraphs.flatMap((paragraph) => {
    const [first = '', ...lines] = paragraph
      .trim()
      .split(/\r?\n/)
      .map((line) => line.trim())
    const [, address] = /^<(\S{1,320})>:$/.exec(first) ?? []
    return address ? [failureOf(address, lines)] : []
  })
}

/** `X-Failed-Recipients` names the recipients; the text has the reason under each. A delay has no such field. */
function readExim({ header, text }: Parts): FailedRecipient[] {
  const list = header('x-failed-recipients').split(',', MAX_RECIPIENTS)
  const addresses = new Set(list.map((address) => address.trim()).filter((address) => address !== ''))
  const lines = text.split(/\r?\n/).map((line) => line.trim())
  const nameIn = (line: string) => line.replace(/:$/, '')
  const endsReason = (line: string) => line === '' || addresses.has(nameIn(line))
  const reasons = new Map<string, string[]>()
  for (const [i, line] of lines.entries()) {
    const name = nameIn(line)
    if (!addresses.has(name) || reasons.has(name)) continue
    const length = lines.slice(i + 1).findIndex(endsReason)
    reasons.set(name, lines.slice(i + 1, length < 0 ? undefined : i + 1 + length))
  }
  return [...addresses].map((address) => failureOf(address, reasons.get(address) ?? []))
}

function failureOf(address: string, lines: string[]): FailedRecipient {
  const text = lines.join(' ')
  const [, mx = ''] = /\bhost ([\w.-]{1,253}) \[/.exec(text) ?? []
  return { ...diagnose({ status: '', lines, mx, phase: phaseIn(text) }), addresses: [address] }
}
