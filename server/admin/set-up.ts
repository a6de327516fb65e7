import { create } from '@bufbuild/protobuf'
import { type GetSetUpResponse, GetSetUpResponseSchema } from '../../gen/verdict/admin/v1/overview_pb.ts'
import type { DatabaseClock } from '../db/clock.ts'
import type { Database } from '../db/connect.ts'
import { and, asc, eq, gt, gte, isNull, lt, or } from '../db/drizzle.ts'
import { firstIdAt, publicId } from '../db/ids.ts'
import { RETENTION_MS } from '../db/retention.ts'
import { accounts, apiKeys, domains, messages } from '../db/schema.ts'
import { one } from '../db/statement.ts'
import { findEndpoints } from '../webhooks/endpoints/endpoints.ts'

const DAY_MS = 86_400_000
/** The days of history that one statement reads: see newest-rows.ts. */
const DAYS = 18

/** Reads which steps of the set-up are done. A dry run counts as a send. */
export async function readSetUp(db: Database, clock: DatabaseClock, accountId: string): Promise<GetSetUpResponse> {
  const [verifiedDomain, hasKey, firstMessage, endpoints] = await Promise.all([
    findVerifiedDomain(db, accountId),
    hasValidLiveKey(db, clock, accountId),
    findFirstMessage(db, clock, accountId),
    findEndpoints(db, accountId),
  ])
  return create(GetSetUpResponseSchema, {
    verifiedDomain,
    hasKey,
    firstMessageId: firstMessage && publicId('msg', firstMessage),
    webhookUrl: endpoints[0]?.url,
  })
}

async function findVerifiedDomain(db: Database, accountId: string): Promise<string | undefined> {
  const [domain] = await db
    .select({ name: domains.name })
    .from(domains)
    .where(and(eq(domains.accountId, accountId), eq(domains.status, 'verified')))
    .orderBy(asc(domains.verifiedAt), asc(domains.name))
    .limit(1)
  return domain?.name
}

async function hasValidLiveKey(db: Database, clock: DatabaseClock, accountId: string): Promise<boolean> {
  const now = new Date(clock.now())
  const isValid = and(isNull(apiKeys.revokedAt), or(isNull(apiKeys.expiresAt), gt(apiKeys.expiresAt, now)))
  return (await db.$count(apiKeys, and(eq(apiKeys.accountId, accountId), eq(apiKeys.test, false), isValid))) > 0
}

/** Finds the account's oldest message in history, a few days at a time from the account's first day on. */
async function findFirstMessage(db: Database, clock: DatabaseClock, accountId: string): Promise<string | undefined> {
  const account = one(await db.select().from(accounts).where(eq(accounts.id, accountId)))
  const endMs = clock.now() + DAY_MS
  for (let fromMs = Math.max(account.createdAt.getTime(), clock.now() - RETENTION_MS); fromMs < endMs; ) {
    const toMs = Math.min(fromMs + DAYS * DAY_MS, endMs)
    const isIn = and(gte(messages.id, firstIdAt(fromMs)), lt(messages.id, firstIdAt(toMs)))
    const [message] = await db
      .select({ id: messages.id })
      .from(messages)
      .where(and(eq(messages.accountId, accountId), isIn))
      .orderBy(asc(messages.id))
      .limit(1)
    if (message) return message.id
    fromMs = toMs
  }
  return undefined
}
