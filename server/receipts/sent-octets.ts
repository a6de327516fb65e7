import { createHash } from 'node:crypto'

/** More fields than any server adds. */
const MAX_ADDED_FIELDS = 200

/**
 * Looks in a saved copy of a message for the octets that went out. Servers on the way put their own fields in front of
 * a message, so every field of the header is tried as the first one; a copy with LF line ends is read with CRLF. Only
 * equal digests count, so a match is exact. Returns how many octets come before it, or undefined when none matches.
 */
export function findSentOctets(copy: Buffer, digest: string): { added: number } | undefined {
  for (const octets of [copy, withCrlf(copy)]) {
    for (const start of fieldStarts(octets)) {
      const hash = createHash('sha256').update(octets.subarray(start)).digest('hex')
      if (`sha-256:${hash}` === digest) return { added: start }
    }
  }
  return undefined
}

function withCrlf(copy: Buffer): Buffer {
  return Buffer.from(copy.toString('latin1').replaceAll(/\r?\n/g, '\r\n'), 'latin1')
}

const [LF, CR, SPACE, TAB] = [0x0a, 0x0d, 0x20, 0x09]

/** The offsets of the header's lines that do not continue the line before. */
function* fieldStarts(octets: Buffer): Generator<number> {
  let start = 0
  for (let fields = 0; fields < MAX_ADDED_FIELDS; fields++) {
    if (octets[start] === CR || octets[start] === LF) return
    yield start
    do {
      const end = octets.indexOf(LF, start)
      if (end < 0) return
      start = end + 1
    } while (octets[start] === SPACE || octets[start] === TAB)
  }
}
