import { fromQuotedPrintable } from './quoted-printable.ts'

// Decoding encoded words (RFC 2047). SMTP libraries write names and subjects so, and their callers pass them on.

/** Charset with an optional language, encoding, and encoded text without spaces. */
const WORD = /=\?([A-Za-z0-9_.:+-]{1,40})(?:\*[A-Za-z0-9-]{0,40})?\?([BbQq])\?([!->@-~]*)\?=/g
/** White space between two encoded words, which a reader removes, may contain a line end of folding. */
const GAP = /^(?:\r?\n)?[\t ]+$|^[\t ]*$|^[\t ]+\r?\n[\t ]+$/
const FOLDED_GAP = /\?=[\t ]*\r?\n[\t ]+=\?/g

/** Adjacent words of one charset. Their bytes are decoded together, because some writers split characters. */
interface Run {
  charset: string
  bytes: Buffer[]
  /** The words as they were written, for a run that cannot be decoded. */
  source: string
}

/** The text with its well-formed encoded words decoded, once. Words of an unknown charset stay as they are. */
export function decodeWords(text: string): string {
  if (!text.includes('=?')) return text
  let decoded = ''
  let end = 0
  let run: Run | undefined
  const flush = () => {
    if (run) decoded += decode(run)
    run = undefined
  }
  for (const match of text.matchAll(WORD)) {
    const [source, charset, encoding, encoded] = match as unknown as [string, string, string, string]
    const bytes = /b/i.test(encoding) ? fromBase64(encoded) : fromQ(encoded)
    if (!bytes) continue
    const gap = text.slice(end, match.index)
    const isAdjacent = end > 0 && GAP.test(gap)
    if (run && isAdjacent && run.charset === charset.toLowerCase()) {
      run.bytes.push(bytes)
      run.source += gap + source
    } else {
      flush()
      if (!isAdjacent) decoded += gap
      run = { charset: charset.toLowerCase(), bytes: [bytes], source }
    }
    end = match.index + source.length
  }
  flush()
  return decoded + text.slice(end)
}

/** The text without the line ends of folding between its encoded words. Every other line end stays. */
export function unfoldWords(text: string): string {
  return text.includes('=?') ? text.replace(FOLDED_GAP, '?= =?') : text
}

/** Whether a text holds what a reader may take for an encoded word. */
export const hasWord = (text: string) => text.search(WORD) >= 0

function decode({ charset, bytes, source }: Run): string {
  try {
    return new TextDecoder(charset, { fatal: true, ignoreBOM: true }).decode(Buffer.concat(bytes))
  } catch {
    return source
  }
}

function fromBase64(text: string): Buffer | undefined {
  return /^[A-Za-z0-9+/]+={0,2}$/.test(text) ? Buffer.from(text, 'base64') : undefined
}

function fromQ(text: string): Buffer | undefined {
  if (/=(?![0-9A-Fa-f]{2})/.test(text)) return undefined
  return fromQuotedPrintable(Buffer.from(text.replaceAll('_', ' '), 'latin1'))
}
