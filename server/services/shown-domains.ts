import { create } from '@bufbuild/protobuf'
import { timestampFromDate, timestampFromMs } from '@bufbuild/protobuf/wkt'
import {
  DkimKeySchema,
  DkimKeyStateSchema,
  DomainRecordSchema,
  DomainSchema,
  DomainStatusSchema,
  type Domain as Message,
  RecordStatusSchema,
} from '../../gen/verdict/v1/domains_pb.ts'
import { SendingStateSchema } from '../../gen/verdict/v1/stats_pb.ts'
import type { Database } from '../db/connect.ts'
import { and, eq, sql } from '../db/drizzle.ts'
import { enumNames } from '../db/enum-names.ts'
import { publicId } from '../db/ids.ts'
import { warmUps } from '../db/schema.ts'
import { bitsOf } from '../domains/dkim-key.ts'
import type { DkimKeyRow, Domain } from '../domains/domains.ts'
import { type CheckedRecord, checkedRecords, stringsOf } from '../domains/records.ts'
import { warmUpDay } from '../reputation/warm-up.ts'
import type { Backend } from './backend.ts'

const DAY_MS = 86_400_000
const statusNames = enumNames(DomainStatusSchema)
const recordNames = enumNames(RecordStatusSchema)
const keyNames = enumNames(DkimKeyStateSchema)
export const sendingNames = enumNames(SendingStateSchema)

/**
 * Creates the function that shows domains of one account: with their records and what they may send and have sent
 * today.
 */
export function createShowDomains({ db, clock, hosts, breaker, limits }: Backend) {
  return async (accountId: string, domains: readonly Domain[]): Promise<Message[]> => {
    const names = domains.map(({ name }) => name)
    const states = await breaker.states(accountId, names)
    const sent = await sentToday(db, accountId)
    return domains.map((domain) => {
      const { name, status, requiresTls, createdAt, verifiedAt, dkimKeys, pool } = domain
      const warmup = status === 'verified' ? warmUpOf(domain, clock.now(), limits.warmUp) : undefined
      return create(DomainSchema, {
        domainId: publicId('dom', domain.id),
        domain: name,
        status: statusNames.value(status),
        records: checkedRecords(domain, hosts).map(shownRecord),
        warmup: warmup && { ...warmup, sentToday: sent.get(name) ?? 0 },
        dkim: shownKeys(dkimKeys),
        sending: sendingNames.value(states.get(name)!),
        requireTls: requiresTls,
        pool: pool ?? undefined,
        createdAt: timestampFromDate(createdAt),
        verifiedAt: verifiedAt ? timestampFromDate(verifiedAt) : undefined,
      })
    })
  }
}

/** Reads, for each domain, the emails admitted on this UTC day while it warms up. */
async function sentToday(db: Database, accountId: string): Promise<Map<string, number>> {
  const today = sql`(now() at time zone 'utc')::date`
  const rows = await db
    .select({ domain: warmUps.domain, emails: warmUps.emails })
    .from(warmUps)
    .where(and(eq(warmUps.accountId, accountId), eq(warmUps.day, today)))
  return new Map(rows.map(({ domain, emails }) => [domain, emails]))
}

function warmUpOf(domain: Domain, nowMs: number, steps: readonly number[]) {
  const today = warmUpDay(domain, nowMs, steps)
  if (!today || !domain.verifiedAt) return undefined
  const firstDay = Math.floor(domain.verifiedAt.getTime() / DAY_MS)
  const completesAt = timestampFromMs((firstDay + steps.length) * DAY_MS)
  return { day: today.day, dailyLimit: today.dailyLimit, completesAt }
}

function shownRecord({ record, type, host, value, required, status, observed, error, checkedAt }: CheckedRecord) {
  const strings = type === 'TXT' ? stringsOf(value) : []
  return create(DomainRecordSchema, {
    record,
    type,
    host,
    value,
    strings: strings.length > 1 ? strings : [],
    required,
    status: recordNames.value(status),
    observed,
    error,
    lastCheckedAt: checkedAt && timestampFromDate(checkedAt),
  })
}

/**
 * Shows the key that signs. A domain always has one; with two algorithms it is the RSA key, which every receiver
 * supports.
 */
function shownKeys(keys: readonly DkimKeyRow[]) {
  const active = keys.filter(({ state }) => state === 'active')
  const signing = active.find(({ algorithm }) => algorithm === 'rsa') ?? active[0]
  return signing && { selector: signing.selector, keyBits: bitsOf(signing), keys: keys.map(shownKey) }
}

function shownKey(key: DkimKeyRow) {
  return create(DkimKeySchema, {
    selector: key.selector,
    state: keyNames.value(key.state),
    keyBits: bitsOf(key),
    createdAt: timestampFromDate(key.createdAt),
    retiresAt: key.retiresAt ? timestampFromDate(key.retiresAt) : undefined,
  })
}
