// The law: Python's `email`, Go's `net/mail` and postal-mime read each address that we accept as we do, if they accept
// it, and an address that all three accept is one that we accept, too, or refuse for a listed reason.

import assert from 'node:assert/strict'
import { domainToASCII } from 'node:url'
import fc from 'fast-check'
import { addressParser } from 'postal-mime'
import { parseMailbox } from '../mail/address.ts'
import { anyCharacter } from '../test/harness/text.ts'
import { type Reader, startGo, startPython } from './readers/reader.ts'
import type { Target } from './target.ts'

const character = fc.string({ unit: anyCharacter, minLength: 1, maxLength: 1 })
const PIECES = [
  ...['a', 'b', 'A', '1', '.', '..', '-', '_', '+', '@', '"', '\\', '\\"', ' ', '<', '>', '(', ')', '[', ']', ',', ';'],
  ...[
    ':',
    'ü',
    'u\u0308',
    '世',
    '😀',
    '\u200b',
    '\u200d',
    '\u00ad',
    '\u202e',
    '＠',
    '。',
    '．',
    '%41',
    '=?utf-8?q?a?=',
  ],
  ...['\t', '\r\n ', '\0', '\u0085', '\u00a0', "'", '!', '#', '/', '='],
]
const pieces = (max: number) =>
  fc
    .array(fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...PIECES) }, { weight: 1, arbitrary: character }), {
      maxLength: max,
    })
    .map((parts) => parts.join(''))

const word = fc.stringMatching(/^[A-Za-z0-9]{1,6}$/)
const local = fc.oneof(
  word,
  fc.tuple(word, fc.constantFrom('.', '+', '-', '_', "'"), word).map((parts) => parts.join('')),
  pieces(4),
  pieces(4).map((text) => `"${text}"`),
  fc.nat(70).map((length) => 'x'.repeat(length)),
)
const label = fc.oneof(
  word,
  word,
  pieces(3),
  fc.nat(66).map((length) => 'd'.repeat(length)),
)
const domain = fc.oneof(
  fc.tuple(label, fc.constantFrom('example', 'com', 'テスト', '1', 'x1')).map((parts) => parts.join('.')),
  fc.array(label, { minLength: 1, maxLength: 3 }).map((labels) => labels.join('.')),
  fc.constantFrom('[192.0.2.1]', '[IPv6:2001:db8::1]', 'xn--bcher-kva.example', 'localhost'),
)
const address = fc.tuple(local, domain).map((parts) => parts.join('@'))
const name = fc.oneof(
  word,
  pieces(4),
  pieces(4).map((text) => `"${text}"`),
  fc.constantFrom('Ann Lee', '=?utf-8?q?Ann=2C_Lee?=', '=?utf-8?b?w7w=?= =?utf-8?b?w7w=?='),
)
const inputs = fc.oneof(
  address,
  fc.tuple(name, fc.constantFrom(' <', '<', '  <'), address, fc.constantFrom('>', '> ', '>(x)')).map((p) => p.join('')),
  pieces(12),
)

/** Name, local part without quotes, domain. */
type Read = [name: string, local: string, domain: string]

export const addresses: Target<string> = {
  inputs,
  async start() {
    const python = await startPython()
    const go = await startGo()
    const askFor = async (reader: Reader, text: string) => (await reader.ask<Read>('address', text)).value

    async function check(text: string): Promise<void> {
      const readings = {
        python: await askFor(python, text),
        go: await askFor(go, text),
        'postal-mime': readByPostalMime(text),
      }
      const mailbox = parseMailbox(text)
      if (mailbox) {
        const ours = [unquoted(mailbox.local), mailbox.domain]
        for (const [reader, read] of Object.entries(readings))
          if (read)
            assert.deepEqual(comparable(read), ours, `${reader} reads another address in ${JSON.stringify(text)}`)
        return
      }
      const [first, ...others] = Object.values(readings)
      if (!first || others.some((read) => !read || `${comparable(read)}` !== `${comparable(first)}`)) return
      const reason = REASONS.find(([, applies]) => applies(text, first))
      assert(reason, `All three read ${JSON.stringify(first)} in ${JSON.stringify(text)}, and we refuse it.`)
    }

    return { check, stop: () => Promise.all([python.stop(), go.stop()]).then(() => {}) }
  },
}

/** Why we refuse what others accept. */
const REASONS: [reason: string, applies: (text: string, read: Read) => boolean][] = [
  ['a domain that receives mail has two labels', (_, [, , domain]) => !/.\../.test(domain)],
  ['an address literal names no domain', (_, [, , domain]) => domain.startsWith('[')],
  [
    'a label has 1 to 63 letters, digits and hyphens within (RFC 1035), and a top-level domain is no number',
    (_, read) => !HOST_NAME.test(comparable(read)[1]!) || PUNCTUATION.test(read[2]),
  ],
  ['a local part has at most 64 octets', (_, [, local]) => Buffer.byteLength(local) > 64],
  ['no control character', (text) => /\p{Cc}/u.test(text)],
  ['an address shows all its letters', (_, [, local, domain]) => HIDDEN.test(local + domain)],
  ['nothing is trimmed', (text) => /^\s|\s$/.test(text)],
  ['a name has quotes as a whole or not at all', (text) => /^(?!\s*""\s*<)[^<]*""[^<]*</.test(outsideQuotes(text))],
  ['no comment', (text) => outsideQuotes(text).includes('(')],
  ['no white space within an address', (text) => /\s[@.>]|[@.<]\s/.test(outsideQuotes(text))],
]
const outsideQuotes = (text: string) => text.replace(/"(?:[^"\\]|\\.)*"/gs, '""')
const HOST_NAME = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+(?!\d+$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
const PUNCTUATION = /[!-,/:-@[-`{-~]/
const HIDDEN = /[^\P{C}]|[\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\ufffd]/u

/** It removes the quotes of a local part first, and then trims it or ends it early: it refuses those for us. */
function readByPostalMime(text: string): Read | undefined {
  if (outsideQuotes(text).includes('""@')) return undefined
  const [one, ...more] = addressParser(text)
  if (!one?.address || more.length > 0) return undefined
  const at = one.address.lastIndexOf('@')
  return at < 0 ? undefined : [one.name, unquoted(one.address.slice(0, at)), one.address.slice(at + 1)]
}

/** The local part and the domain, each in the form that all spellings of it share. */
function comparable([, local, domain]: Read): string[] {
  // For ASCII the function would decode percent signs.
  return [local.normalize('NFC'), (/[^\x00-\x7f]/.test(domain) && domainToASCII(domain)) || domain.toLowerCase()]
}

function unquoted(local: string): string {
  const [, quoted] = /^"(.*)"$/s.exec(local) ?? []
  return quoted === undefined ? local : quoted.replace(/\\(.)/gsu, '$1')
}
