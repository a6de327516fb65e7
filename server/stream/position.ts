import { createHash } from 'node:crypto'
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

const VERSION = 1
const CHECK_BYTES = 6
/** Version, cluster, timeline, order and event. */
const BYTES = 1 + 8 + 4 + 8 + 16

/** Writes a position. Its last octets bind it to the account, so that one of another account is refused. */
export function showPosition({ cluster, timeline, order, id }: Position, accountId: string): string {
  const bytes = Buffer.alloc(BYTES)
  bytes.writeUInt8(VERSION, 0)
  bytes.writeBigUInt64BE(BigInt(cluster), 1)
  bytes.writeUInt32BE(timeline, 9)
  bytes.writeBigUInt64BE(BigInt(order), 13)
  bytesOfId(id).copy(bytes, 21)
  return Buffer.concat([bytes, checkOf(bytes, accountId)]).toString('base64url')
}

/** Reads a position of an account; undefined for a text that is none, such as one that was cut. */
export function parsePosition(text: string, accountId: string): Position | undefined {
  const raw = Buffer.from(text, 'base64url')
  const bytes = raw.subarray(0, BYTES)
  // The decoder skips characters that are not base64url. Only a position that encodes back to itself is one of ours.
  if (raw.length !== BYTES + CHECK_BYTES || raw.toString('base64url') !== text || bytes[0] !== VERSION) return undefined
  if (!raw.subarray(BYTES).equals(checkOf(bytes, accountId))) return undefined
  return {
    cluster: String(bytes.readBigUInt64BE(1)),
    timeline: bytes.readUInt32BE(9),
    order: Number(bytes.readBigUInt64BE(13)),
    id: idOfBytes(bytes.subarray(21)),
  }
}

const checkOf = (bytes: Buffer, accountId: string): Buffer =>
  createHash('sha256').update('event position').update(bytes).update(accountId).digest().subarray(0, CHECK_BYTES)
