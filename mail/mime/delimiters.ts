// The lines that divide the parts of a multipart (RFC 2046 5.1.1), found by their octets: a body of such lines, or of
// lines that are nearly such, makes no text.

const MASK = 0xffff_ffff

export function createDelimiters<Value>() {
  const lines = new Map<number, { line: Buffer; value: Value }[]>()
  let longest = 0
  return {
    add(text: string, value: Value): void {
      const line = Buffer.from(text, 'latin1')
      longest = Math.max(longest, line.length)
      const hash = hashOf(line, 0, line.length)
      const others = lines.get(hash)?.filter((other) => !other.line.equals(line)) ?? []
      lines.set(hash, [...others, { line, value }])
    },
    /** The value of the line between these octets. */
    find(octets: Uint8Array, start: number, end: number): Value | undefined {
      if (end - start > longest) return undefined
      const candidates = lines.get(hashOf(octets, start, end)) ?? []
      for (const { line, value } of candidates) if (isAt(octets, start, end, line)) return value
      return undefined
    },
    clear(): void {
      lines.clear()
      longest = 0
    },
  }
}

/** FNV-1a. */
function hashOf(octets: Uint8Array, start: number, end: number): number {
  let hash = 0x811c_9dc5
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ octets[at]!, 0x0100_0193)
  return hash & MASK
}

/** A loop, because a call of Node's own comparison takes longer than most lines. */
function isAt(octets: Uint8Array, start: number, end: number, line: Buffer): boolean {
  if (end - start !== line.length) return false
  for (let at = 0; at < line.length; at++) if (octets[start + at] !== line[at]) return false
  return true
}
