/**
 * Characters that a database refuses (NUL, halves of surrogate pairs), that a terminal obeys (C0, C1 and DEL), or that
 * deceive a reader (line separators, and formatting characters that reorder or hide the text around them).
 */
const HARMFUL = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/** Matches nearly all texts, at a fraction of the time. */
const PLAIN = /^[ -~]*$/

interface CleanOptions {
  /** Harmful characters to keep, such as `\n`. */
  keep?: string
  /** The replacement of each harmful character. It is never empty: `a\0b` must not become the name `ab`. */
  by?: string
}

/**
 * Makes text from outside (a mail server, a DNS zone, a webhook's response) safe to store, log and print anywhere. Each
 * edge where such text enters calls this once, and the last edge before a terminal calls it again.
 */
export function cleanText(text: string, { keep = '', by = '\uFFFD' }: CleanOptions = {}): string {
  return PLAIN.test(text) ? text : text.replace(HARMFUL, (character) => (keep.includes(character) ? character : by))
}

/**
 * Makes every character of a JSON text safe to print, without changing its meaning: harmful ones become `\u` escapes.
 * Line feeds stay.
 */
export function cleanJson(json: string): string {
  return json.replace(HARMFUL, (character) => (character === '\n' ? character : escaped(character)))
}

function escaped(character: string): string {
  return Array.from({ length: character.length }, (_, i) => {
    return `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`
  }).join('')
}
