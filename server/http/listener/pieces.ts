import type { Readable } from 'node:stream'

// A body arrives in pieces: the DATA frames of HTTP/2, the chunks of HTTP/1.1, or what one TLS record holds. Each piece
// costs the process time, however small it is. See docs/adr/0125-small-pieces.md.

/** A piece under this size is small. */
const SMALL_BYTES = 64
/** How many small pieces a connection may send in a window, whatever their average. */
const MAX_SMALL_PIECES = 1_000
const WINDOW_MS = 10_000
/** Larger pieces are passed on at once, because gathering copies them. */
const GATHERED_BYTES = 4 * 1024

/** Why a connection is refused. */
export const TOO_MANY_SMALL_PIECES =
  `Bodies arrive in too many small pieces: over ${MAX_SMALL_PIECES} within ${WINDOW_MS / 1_000} s, ` +
  `under ${SMALL_BYTES} bytes on average. Write larger pieces.`

/**
 * Returns a function that watches the bodies of one connection; it takes each body before its first piece. `refuse` is
 * called once, within the arrival of a piece: when the connection has sent too many small pieces, measured by their
 * number and by all that it has sent. The first and the last piece of a body do not count, so small calls on a kept
 * connection never do. From then on every piece is dropped.
 */
export function createPieceLimit(refuse: () => void): (body: Readable) => void {
  let windowStartMs = 0
  let smallPieces = 0
  let spareBytes = 0
  let isRefused = false

  /** Counts a piece, and the one before it when that was small and neither the first nor the last of its body. */
  function isAllowed(bytes: number, followsSmall: boolean): boolean {
    if (isRefused) return false
    const nowMs = performance.now()
    if (nowMs - windowStartMs > WINDOW_MS) {
      windowStartMs = nowMs
      smallPieces = 0
      spareBytes = 0
    }
    // Large pieces make room for no more small ones than a window allows: a large upload does not allow a flood.
    spareBytes = Math.min(spareBytes + bytes, SMALL_BYTES * MAX_SMALL_PIECES)
    if (followsSmall) {
      smallPieces++
      spareBytes -= SMALL_BYTES
    }
    isRefused = smallPieces > MAX_SMALL_PIECES && spareBytes < 0
    if (isRefused) refuse()
    return !isRefused
  }

  return (body) => gatherPieces(body, isAllowed)
}

/**
 * Passes the pieces of a body on together, once in a turn of the event loop: its readers then work once a turn, however
 * many pieces arrived. Node hands each piece to `push`, and null at the end.
 */
function gatherPieces(body: Readable, isAllowed: (bytes: number, followsSmall: boolean) => boolean): void {
  const push = body.push.bind(body)
  let gathered: Buffer[] = []
  let gatheredBytes = 0
  let turnEnd: NodeJS.Immediate | undefined
  let pieces = 0
  let lastBytes = 0

  function passOn(): void {
    clearImmediate(turnEnd)
    turnEnd = undefined
    if (gathered.length > 0) push(gathered.length === 1 ? gathered[0] : Buffer.concat(gathered))
    gathered = []
    gatheredBytes = 0
  }

  function gather(piece: Buffer | null): boolean {
    if (piece === null) {
      passOn()
      return push(null)
    }
    const followsSmall = pieces > 1 && lastBytes < SMALL_BYTES
    pieces++
    lastBytes = piece.length
    if (!isAllowed(piece.length, followsSmall)) return false
    if (gathered.length === 0 && piece.length > GATHERED_BYTES) return push(piece)
    gathered.push(piece)
    gatheredBytes += piece.length
    turnEnd ??= setImmediate(passOn)
    return body.readableLength + gatheredBytes < body.readableHighWaterMark
  }
  body.push = gather
}
