import fc from 'fast-check'

/** Surrogates are not characters. */
const FIRST_SURROGATE = 0xd800
const SURROGATES = 0x800
const LAST = 0x10ffff

/**
 * Generates any Unicode character, as a `unit` of `fc.string`. The unit 'binary' generates the same characters, but
 * first builds a table of all of them, which takes each process a second and a half.
 */
export const anyCharacter: fc.Arbitrary<string> = fc.nat({ max: LAST - SURROGATES }).map(
  (n) => String.fromCodePoint(n < FIRST_SURROGATE ? n : n + SURROGATES),
  (text) => {
    if (typeof text !== 'string' || [...text].length !== 1) throw new Error('not one character')
    const point = text.codePointAt(0)!
    return point < FIRST_SURROGATE ? point : point - SURROGATES
  },
)

/** The words of a list that takes several lines. */
export const words = (list: string): string[] => list.trim().split(/\s+/)
