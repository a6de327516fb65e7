/** Small pieces are joined to pages, because a piece of a few octets takes hundreds of bytes of memory. */
const PAGE = 64 * 1024

/** The octets of a message while they arrive. */
export function createMailContent() {
  let full: Buffer[] = []
  let page = Buffer.allocUnsafeSlow(PAGE)
  let used = 0
  let length = 0
  return {
    add(piece: Buffer): void {
      length += piece.length
      for (let at = 0; at < piece.length; ) {
        const copied = piece.copy(page, used, at)
        at += copied
        used += copied
        if (used < PAGE) continue
        full.push(page)
        page = Buffer.allocUnsafeSlow(PAGE)
        used = 0
      }
    },
    /** The memory that it takes. */
    bytes: () => (full.length + 1) * PAGE,
    /** The whole message. */
    end(): Buffer {
      const content = Buffer.concat([...full, page.subarray(0, used)], length)
      full = []
      return content
    },
  }
}
