import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ReplayFilter } from '../../gen/verdict/admin/v1/replays_pb.ts'
import type { DatabaseClock } from '../db/clock.ts'
import { statusNames } from '../db/outcome-names.ts'
import { failField } from '../errors.ts'
import { isEventKind, ONE_OF_KINDS, readEnum, readTagFilter, readTenantFilter } from '../services/listing/filters.ts'
import { readTime, refuseReversed } from '../services/listing/times.ts'
import type { ReadFilter } from '../webhooks/replays/matching-events.ts'

/** Checks a filter. Throws `invalid_payload` with the faulty field. */
export function readFilter(filter: ReplayFilter | undefined, clock: DatabaseClock): ReadFilter {
  if (!filter) throw failField('filter', 'is required. An empty one matches every event')
  const nowMs = Math.floor(clock.now())
  const fromMs = readTime('filter.from', filter.from)
  const toMs = readTime('filter.to', filter.to) ?? nowMs
  if (toMs > nowMs) throw failField('filter.to', 'must not be in the future. Leave it out for the time of the call')
  refuseReversed(fromMs, toMs, 'filter.')
  if (filter.event !== undefined && !isEventKind(filter.event)) throw failField('filter.event', ONE_OF_KINDS)
  readEnum('filter.status', filter.status, statusNames)
  readTagFilter(filter.tag, 'filter.tag')
  readTenantFilter(filter.tenantId, 'filter.tenant_id')
  return { ...filter, to: timestampFromMs(toMs) }
}
