import { cleanText } from '../../net/clean-text.ts'

/**
 * Returns the octets as text that can be stored and shown anywhere; undefined when there are none. The text is valid
 * UTF-8 without control or formatting characters: PostgreSQL refuses NUL, a terminal obeys ESC, and bidirectional
 * marks turn a line around. Each of them becomes U+FFFD. A character that was cut in the middle is left out.
 */
export function excerptOf(octets: Buffer, isCut: boolean): string | undefined {
  if (octets.length === 0) return undefined
  const text = new TextDecoder().decode(octets, { stream: isCut })
  return cleanText(text.replaceAll('\r\n', '\n'), { keep: '\n\t' })
}
