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

/** Joiners are no danger: scripts such as Persian need them, and so do emoji. */
const UNFIT_FOR_NAMES = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u

/**
 * Describes the fault of a name that a person or program gives and others see, such as the name of a key or a tag;
 * undefined when it has none. Each edge where such a name enters calls this.
 */
export function nameFault(name: string, mostCharacters: number): string | undefined {
  if (name === '' || isLonger(name, mostCharacters)) return `must have 1 to ${mostCharacters} characters`
  return unfitCharacter(name)
}

/** Whether a text has more code points than this. A code point is one or two UTF-16 units. */
export const isLonger = (text: string, characters: number): boolean =>
  text.length > characters && (text.length > 2 * characters || [...text].length > characters)

/** Names the first character that no name may have: one that a terminal obeys, or that hides or reorders text. */
export function unfitCharacter(text: string): string | undefined {
  const [character] = (PLAIN.test(text) ? undefined : UNFIT_FOR_NAMES.exec(text)) ?? []
  if (character === undefined) return undefined
  const code = character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')
  return `must not contain U+${code}: characters that control, hide or reorder text are not allowed`
}

/** The text without the characters that no name may have. */
export const withoutUnfit = (text: string): string =>
  PLAIN.test(text) ? text : text.replace(new RegExp(UNFIT_FOR_NAMES, 'gu'), '')

function escaped(character: string): string {
  return Array.from({ length: character.length }, (_, i) => {
    return `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`
  }).join('')
}
