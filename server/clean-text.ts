/**
 * What a database refuses (NUL, halves of surrogate pairs), a terminal obeys (C0, C1 and DEL) or a reader is deceived by (formatting
 * characters that reorder or hide the text around them, line separators).
 */
const HARMFUL = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/** Nearly all texts, at a fraction of the time. */
const PLAIN = /^[ -~]*$/

interface CleanOptions {
  /** Characters that stay all the same, such as `\n`. */
  keep?: string
  /** What stands in the place of each harmful character. Never nothing: `a\0b` must not become the name `ab`. */
  by?: string
}

/**
 * Text from outside (a mail server, a DNS zone, a webhook's answer) as it can be stored, logged and printed anywhere. Each edge where
 * such text enters calls this once, and the last edge before a terminal once more.
 */
export function cleanText(text: string, { keep = '', by = '\uFFFD' }: CleanOptions = {}): string {
  return PLAIN.test(text) ? text : text.replace(HARMFUL, (character) => (keep.includes(character) ? character : by))
}

/** JSON whose every character can be printed: harmful ones stand as `\u` escapes, and its meaning is the same. Line feeds stay. */
export function cleanJson(json: string): string {
  return json.replace(HARMFUL, (character) => (character === '\n' ? character : escaped(character)))
}

function escaped(character: string): string {
  return Array.from({ length: character.length }, (_, i) => {
    return `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`
  }).join('')
}
