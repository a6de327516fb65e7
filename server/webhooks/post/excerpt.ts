import { cleanText } from '../../../net/clean-text.ts'

/**
 * Returns the octets as text that can be stored and shown anywhere; undefined when there are none. The text is valid
 * UTF-8 whose only control characters are tab and line feed: PostgreSQL refuses NUL, a terminal obeys ESC, and
 * bidirectional marks reverse a line. Each other control or formatting character becomes U+FFFD.
 * @param isCut the octets continue: a character that is cut in the middle is left out
 */
export function excerptOf(octets: Buffer, isCut: boolean): string | undefined {
  if (octets.length === 0) return undefined
  const text = new TextDecoder().decode(octets, { stream: isCut })
  return cleanText(text.replaceAll('\r\n', '\n'), { keep: '\n\t' })
}
