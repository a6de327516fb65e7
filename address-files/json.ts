import { AddressFileFault, type AddressList } from './addresses.ts'

/** The lists in responses of other services: SES, Postmark, Mailgun, Resend, SendGrid. */
const LISTS = ['SuppressedDestinationSummaries', 'Suppressions', 'items', 'data', 'recipient_emails', 'emails']
/** What these services call the address. */
const ADDRESSES = ['EmailAddress', 'email', 'Email', 'address', 'recipient']
const MAX_SHOWN = 300

/** The addresses of one JSON text, or of one in each line. */
export function addressesInJson(text: string): AddressList {
  const entries = valuesOf(text).flatMap(entriesOf)
  const addresses = entries.map((entry, i) => ({ line: i + 1, text: addressOf(entry) }))
  return { addresses, lines: Math.max(1, entries.length), hasHeader: false, columns: [], column: 0 }
}

function valuesOf(text: string): unknown[] {
  const whole = parsed(text)
  if (whole !== undefined) return [whole]
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  return lines.map((line, i) => {
    const value = parsed(line)
    if (value === undefined) throw new AddressFileFault(`The file begins as JSON, but line ${i + 1} is not JSON.`)
    return value
  })
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The entries of a value: of a list those of its elements, which may be pages, and of a page those of its list. */
function entriesOf(value: unknown): unknown[] {
  if (Array.isArray(value)) return value.flatMap((one) => (Array.isArray(one) ? [one] : entriesOf(one)))
  const list = LISTS.map((name) => fieldOf(value, name)).find(Array.isArray)
  return list ?? [value]
}

function addressOf(entry: unknown): string {
  if (typeof entry === 'string') return entry.trim()
  const address = ADDRESSES.map((name) => fieldOf(entry, name)).find((field) => typeof field === 'string')
  return typeof address === 'string' ? address.trim() : `no address: ${JSON.stringify(entry)}`.slice(0, MAX_SHOWN)
}

function fieldOf(value: unknown, name: string): unknown {
  const isObject = typeof value === 'object' && value !== null && Object.hasOwn(value, name)
  return isObject ? (value as Record<string, unknown>)[name] : undefined
}
