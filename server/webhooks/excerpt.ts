import { cleanText } from '../clean-text.ts'

/**
 * The octets as text that can be stored and shown anywhere: valid UTF-8 and no control or formatting characters (PostgreSQL refuses
 * NUL, a terminal obeys ESC, bidirectional marks turn a line around). What cannot stay becomes U+FFFD. A character that was cut in
 * the middle is left out. Undefined when there is nothing.
 */
export function excerptOf(octets: Buffer, isCut: boolean): string | undefined {
  if (octets.length === 0) return undefined
  const text = new TextDecoder().decode(octets, { stream: isCut })
  return cleanText(text.replaceAll('\r\n', '\n'), { keep: '\n\t' })
}
