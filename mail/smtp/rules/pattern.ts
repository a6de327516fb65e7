// How the tables write their patterns. Every pattern runs on text that the other side wrote, so every repetition has a
// small bound: the time is linear in the length of the text.

import { plain } from '../plain-text.ts'

/**
 * An alternation of words or phrases, in the spelling of their language; commas divide them. A star stands for any
 * ending: `disabl*`. A letter that is not ASCII needs no word boundary: Chinese and Japanese write none.
 */
export function words(...lists: string[]): string {
  return `(?<![a-z0-9])(?:${phrases(...lists)
    .map(alternative)
    .join('|')})`
}

/** A phrase in plain text; an open one may have any ending. */
interface Phrase {
  text: string
  isOpen: boolean
}

/** The phrases of such lists. */
export function phrases(...lists: string[]): Phrase[] {
  return lists
    .flatMap((list) => list.split(','))
    .map((phrase) => phrase.trim())
    .map((phrase) => ({ text: plain(phrase.replace(/\*$/, '')), isOpen: phrase.endsWith('*') }))
}

function alternative({ text, isOpen }: Phrase): string {
  const source = text.replaceAll(' ', '[ ,:]{1,2}')
  return isOpen ? `${source}[a-z]{0,14}` : `${source}(?![a-z0-9])`
}

/** `first` and then `second` in one sentence, with at most `gap` characters between them. */
export const near = (first: string, second: string, gap = 40) => `(?:${first})[^.;!]{0,${gap}}?(?:${second})`

/** Both in one sentence, in either order. */
export const together = (first: string, second: string, gap = 40) =>
  `(?:${near(first, second, gap)}|${near(second, first, gap)})`

/** A code or a status as a whole, where a star is any number: `5.7.*`. */
export const numbers = (source: string) => new RegExp(`^(?:${source.replaceAll('.', '\\.').replaceAll('*', '\\d+')})$`)

export const pattern = (...alternatives: string[]) => new RegExp(alternatives.join('|'))
