import { type Sealer, UnknownKeyError } from '../db/encryption.ts'
import { bytesOfId, firstIdAt, idOfBytes } from '../db/ids.ts'

/** A place in the stream of an account: all events up to this one. */
export interface Cursor {
  /** See event-order.ts. */
  order: number
  /** The UUID of the event, or a bound between two: see `startAt`. */
  id: string
}

/** A cursor as a caller keeps it. */
export interface Position extends Cursor {
  /** The system identifier of the PostgreSQL cluster. */
  cluster: string
  /** The timeline on which the event was read. A promotion and a restore begin another one. */
  timeline: number
}

/** Before every event. */
export const BEFORE_ALL: Cursor = { order: 0, id: firstIdAt(0) }

/**
 * A place that names no event: after every event without an order that is stored, and before all others. A stream that
 * starts in an account without a newer event starts here.
 */
export const startAt = (nowMs: number): Cursor => ({ order: 0, id: firstIdAt(nowMs) })

export const namesEvent = ({ id }: Cursor): boolean => !id.endsWith('-0000-0000-000000000000')

/** Cluster, timeline, order and event. */
const BYTES = 8 + 4 + 8 + 16

/** Writes a position. Its seal hides what all accounts share, and binds it to the account. */
export function showPosition(sealer: Sealer, { cluster, timeline, order, id }: Position, accountId: string): string {
  const bytes = Buffer.alloc(BYTES)
  bytes.writeBigUInt64BE(BigInt(cluster), 0)
  bytes.writeUInt32BE(timeline, 8)
  bytes.writeBigUInt64BE(BigInt(order), 12)
  bytesOfId(id).copy(bytes, 20)
  return sealer.sealAlike(bytes, placeOf(accountId)).toString('base64url')
}

/**
 * Reads a position of an account. Returns undefined for a text that is none, such as one that was cut, and
 * `unknown_key` for one whose key is no longer configured.
 */
export function parsePosition(sealer: Sealer, text: string, accountId: string): Position | 'unknown_key' | undefined {
  const raw = Buffer.from(text, 'base64url')
  // The decoder skips characters that are not base64url. Only a position that encodes back to itself is one of ours.
  if (raw.toString('base64url') !== text) return undefined
  try {
    const bytes = sealer.open(raw, placeOf(accountId))
    return {
      cluster: String(bytes.readBigUInt64BE(0)),
      timeline: bytes.readUInt32BE(8),
      order: Number(bytes.readBigUInt64BE(12)),
      id: idOfBytes(bytes.subarray(20)),
    }
  } catch (error) {
    return error instanceof UnknownKeyError ? 'unknown_key' : undefined
  }
}

/** A position is in no table. */
const placeOf = (accountId: string) => ({ table: 'events', column: 'position', id: accountId })
