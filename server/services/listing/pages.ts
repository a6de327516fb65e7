import { createHash } from 'node:crypto'
import type { DescMessage, MessageShape } from '@bufbuild/protobuf'
import type { Timestamp } from '@bufbuild/protobuf/wkt'
import type { DatabaseClock } from '../../db/clock.ts'
import { bytesOfId, idOfBytes } from '../../db/ids.ts'
import { type IdRange, pageRange } from '../../db/newest-rows.ts'
import { oldestKeptId } from '../../db/retention.ts'
import { failField } from '../../errors.ts'
import { requestBytes } from '../../sending/request-bytes.ts'
import { readTime, refuseReversed } from './times.ts'

// A list has pages of 1 to 100 rows, and a cursor that leads from one page to the next.

const DEFAULT_LIMIT = 50
export const MAX_LIMIT = 100
export function readLimit(limit: number = DEFAULT_LIMIT, most = MAX_LIMIT): number {
  if (limit >= 1 && limit <= most) return limit
  throw failField('limit', `must be a whole number from 1 to ${most}`)
}

// A cursor is the last id of its page and a digest that binds it to the filters. A cursor of another query is refused,
// because its page would have gaps.

const DIGEST_BYTES = 8

interface Page {
  limit?: number
  cursor?: string
}

/**
 * Returns a page of rows and the cursor to the next one. `rows` must hold one row more than `limit` if there is one, or
 * the search has `stoppedAt` an id: then the next page goes on there.
 */
export function pageOf<Row extends { id: string }, Desc extends DescMessage>(
  rows: Row[],
  limit: number,
  desc: Desc,
  request: MessageShape<Desc> & Page,
  stoppedAt?: string,
): { page: Row[]; hasMore: boolean; nextCursor: string | undefined } {
  const page = rows.slice(0, limit)
  const next = rows.length > limit ? page.at(-1)?.id : stoppedAt
  return { page, hasMore: next !== undefined, nextCursor: next && makeCursor(next, desc, request) }
}

function makeCursor<Desc extends DescMessage>(id: string, desc: Desc, request: MessageShape<Desc> & Page): string {
  const bytes = bytesOfId(id)
  return Buffer.concat([bytes, cursorDigest(bytes, desc, request)]).toString('base64url')
}

/** The id after which the page begins; undefined for the first page. */
export function readCursor<Desc extends DescMessage>(
  desc: Desc,
  request: MessageShape<Desc> & Page,
): string | undefined {
  if (request.cursor === undefined) return undefined
  const raw = Buffer.from(request.cursor, 'base64url')
  const bytes = raw.subarray(0, -DIGEST_BYTES)
  // The decoder skips characters that are not base64url. Only a cursor that encodes back to itself is one of ours.
  const isOurs = raw.toString('base64url') === request.cursor
  if (!isOurs || bytes.length !== 16 || !raw.subarray(-DIGEST_BYTES).equals(cursorDigest(bytes, desc, request))) {
    throw failField(
      'cursor',
      'is not a next_cursor of these filters. Take it from the page before, or leave it out to start anew',
    )
  }
  return idOfBytes(bytes)
}

/** Returns the ids that a page of history can hold: those between its times and after its cursor. */
export function readRange<Desc extends DescMessage>(
  desc: Desc,
  request: MessageShape<Desc> & Page & { from?: Timestamp; to?: Timestamp },
  clock: DatabaseClock,
): IdRange {
  const fromMs = readTime('from', request.from)
  const toMs = readTime('to', request.to)
  refuseReversed(fromMs, toMs)
  return pageRange({
    oldest: oldestKeptId(clock),
    nowMs: clock.now(),
    fromMs,
    toMs,
    after: readCursor(desc, request),
  })
}

function cursorDigest<Desc extends DescMessage>(id: Buffer, desc: Desc, request: MessageShape<Desc> & Page): Buffer {
  const filters = requestBytes(desc, { ...request, cursor: undefined, limit: undefined })
  const hash = createHash('sha256').update(id).update(desc.typeName).update(filters)
  return hash.digest().subarray(0, DIGEST_BYTES)
}
