// How the tables write their patterns. Every pattern runs on text that the other side wrote, so every repetition has a
// small bound: the time is linear in the length of the text.

import { plain } from '../plain-text.ts'

/**
 * An alternation of words or phrases, in the spelling of their language; commas divide them. A star stands for any
 * ending: `disabl*`. A letter that is not ASCII needs no word boundary: Chinese and Japanese write none.
 */
export function words(...lists: string[]): string {
  const phrases = lists.flatMap((list) => list.split(',')).map((phrase) => phrase.trim())
  return `(?<![a-z0-9])(?:${phrases.map(alternative).join('|')})`
}

function alternative(phrase: string): string {
  const isOpen = phrase.endsWith('*')
  const source = plain(isOpen ? phrase.slice(0, -1) : phrase).replaceAll(' ', '[ ,:]{1,2}')
  return isOpen ? `${source}[a-z]{0,14}` : `${source}(?![a-z0-9])`
}

/** `first` and then `second` in one sentence, with at most `gap` characters between them. */
export const near = (first: string, second: string, gap = 40) => `(?:${first})[^.;!]{0,${gap}}?(?:${second})`

/** Both in one sentence, in either order. */
export const together = (first: string, second: string, gap = 40) =>
  `(?:${near(first, second, gap)}|${near(second, first, gap)})`

export const pattern = (...alternatives: string[]) => new RegExp(alternatives.join('|'))
