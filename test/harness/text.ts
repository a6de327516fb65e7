import fc from 'fast-check'

/** Surrogates are no characters. */
const FIRST_SURROGATE = 0xd800
const SURROGATES = 0x800
const LAST = 0x10ffff

/**
 * Any character of Unicode, as a `unit` of `fc.string`. The unit 'binary' generates the same characters, and builds a table of all of
 * them first, which takes each process a second and a half.
 */
export const anyCharacter: fc.Arbitrary<string> = fc.nat({ max: LAST - SURROGATES }).map(
  (n) => String.fromCodePoint(n < FIRST_SURROGATE ? n : n + SURROGATES),
  (text) => {
    if (typeof text !== 'string' || [...text].length !== 1) throw new Error('not one character')
    const point = text.codePointAt(0)!
    return point < FIRST_SURROGATE ? point : point - SURROGATES
  },
)
