import { pipeline } from 'node:stream/promises'
import { createGunzip, gunzipSync } from 'node:zlib'
import { fail, reasonOf } from '../../errors.ts'
import type { Call } from '../call.ts'
import { type BodyLimits, readableSize, SMALL_BYTES, takeShare } from './body.ts'

type UnpackLimits = Pick<BodyLimits, 'maxBytes' | 'budget'>

/** Bytes up to this size are unpacked at once: the worst of them block the process for 3 ms. */
const SHORT_BYTES = 16 * 1024
/** How much of a message zlib's threads unpack in one piece of work. */
const PIECE_BYTES = 64 * 1024
/** Gzip packs text and attachments at less than 30:1, and a bomb at up to 1,000:1. */
const MAX_RATIO = 200
/** The ratio counts beyond this size. */
const ANY_RATIO_BYTES = 2 ** 20
/** No packer makes a message this many times as large. Empty blocks, members and headers do, and only cost time. */
const MAX_GROWTH = 2

/**
 * The content of a gzip (RFC 1952) of one or several members. Throws `payload_too_large` for a content that is larger
 * than a body may be, or over 200 times as large as its gzip, and `invalid_payload` for anything else than gzip.
 *
 * A large content is first unpacked without being kept. So its exact share of the budget is taken before its memory is,
 * and a bomb takes none.
 */
export async function unpack(call: Call, packed: Buffer, limits: UnpackLimits): Promise<Buffer> {
  const short = packed.length <= SHORT_BYTES ? unpackShort(packed, limits) : undefined
  if (short) return short
  let size = 0
  await unpackPieces(packed, limits, (piece) => {
    size += piece.length
  })
  const moreBytes = size - packed.length
  if (size > SMALL_BYTES && moreBytes > 0) await takeShare(call, moreBytes, limits.budget)
  const content = Buffer.allocUnsafeSlow(size)
  let filled = 0
  await unpackPieces(packed, limits, (piece) => {
    filled += piece.copy(content, filled)
  })
  return content
}

/** Returns undefined when the content is not small. */
function unpackShort(packed: Buffer, { maxBytes }: UnpackLimits): Buffer | undefined {
  if (packed.length === 0) return packed
  const maxOutputLength = Math.min(SMALL_BYTES, maxBytes)
  try {
    // The types lack `info`, which adds the engine to the result.
    const { buffer, engine } = gunzipSync(packed, { maxOutputLength, info: true }) as unknown as Unpacked
    if (engine.bytesWritten < packed.length) throw new Error(TRAILING)
    return buffer
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') return undefined
    throw notGzip(error)
  }
}

interface Unpacked {
  buffer: Buffer
  engine: { bytesWritten: number }
}

/** Calls `take` with each piece of the content. */
async function unpackPieces(packed: Buffer, { maxBytes }: UnpackLimits, take: (piece: Buffer) => void): Promise<void> {
  const gunzip = createGunzip({ chunkSize: PIECE_BYTES })
  const most = Math.min(maxBytes, Math.max(ANY_RATIO_BYTES, packed.length * MAX_RATIO))
  let total = 0
  function* pieces() {
    for (let at = 0; at < packed.length; at += PIECE_BYTES) {
      if (gunzip.bytesWritten > total * MAX_GROWTH + 2 * PIECE_BYTES) throw new Error(GROWS)
      yield packed.subarray(at, at + PIECE_BYTES)
    }
  }
  async function count(contents: AsyncIterable<Buffer>) {
    for await (const piece of contents) {
      total += piece.length
      if (total > most) throw most < maxBytes ? tooDense() : tooLarge(maxBytes)
      take(piece)
    }
    if (gunzip.bytesWritten < packed.length) throw new Error(TRAILING)
  }
  await pipeline(pieces, gunzip, count).catch((error) => {
    throw notGzip(error)
  })
}

const TRAILING = 'bytes follow its end'
const GROWS = 'it is larger than what it holds'

const tooLarge = (maxBytes: number) =>
  fail('payload_too_large', `The request is larger than ${readableSize(maxBytes)} when it is unpacked.`)

const tooDense = () =>
  fail('payload_too_large', `The request becomes over ${MAX_RATIO} times as large when it is unpacked.`)

/** Errors of `fail` unchanged. The messages of zlib are fixed sentences. */
function notGzip(error: unknown): unknown {
  return reasonOf(error)
    ? error
    : fail('invalid_payload', `The request is not valid gzip: ${(error as Error).message}.`)
}
