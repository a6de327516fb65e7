import type { DescMethod } from '@bufbuild/protobuf'
import type { Interceptor } from '@connectrpc/connect'
import { AuditService } from '../../gen/verdict/admin/v1/audit_pb.ts'
import { ImportService } from '../../gen/verdict/admin/v1/imports_pb.ts'
import { NotificationService } from '../../gen/verdict/admin/v1/notifications_pb.ts'
import { OverviewService } from '../../gen/verdict/admin/v1/overview_pb.ts'
import { ReplayService } from '../../gen/verdict/admin/v1/replays_pb.ts'
import { DomainService } from '../../gen/verdict/v1/domains_pb.ts'
import { EmailService } from '../../gen/verdict/v1/emails_pb.ts'
import { EventService } from '../../gen/verdict/v1/events_pb.ts'
import { LimitsService } from '../../gen/verdict/v1/limits_pb.ts'
import { StatsService } from '../../gen/verdict/v1/stats_pb.ts'
import { SuppressionService } from '../../gen/verdict/v1/suppression_pb.ts'
import { WebhookService } from '../../gen/verdict/v1/webhooks_pb.ts'
import { createFairSlotsByKey, FairSlots } from '../../net/fair-slots.ts'
import { callerOf, endWorkKey, rightKey } from '../caller.ts'
import { fail } from '../errors.ts'

interface HeavyGroup {
  methods: readonly DescMethod[]
  /** What the calls are for, in the error. */
  what: string
  /** The most calls of one account that run at a time. */
  atOnce: number
  /** The most calls of all accounts that run at a time; without it there is no limit. */
  ofAll?: number
  /** The most calls by sessions of one account that wait: a page sends several at once. */
  maxWaiting: number
  waitMs: number
}

/** The calls of keys have been counted for the account's tier: programs wait longer, and are refused late. */
const BY_KEY = { maxWaiting: 1_000, waitMs: 10_000 }

const { testWebhook, testEndpoint, deleteWebhook, deleteEndpoint } = WebhookService.method
const SHOWING_NO_ENDPOINT: readonly DescMethod[] = [testWebhook, testEndpoint, deleteWebhook, deleteEndpoint]
const SHOWING_ENDPOINTS = WebhookService.methods.filter((method) => !SHOWING_NO_ENDPOINT.includes(method))

/**
 * The calls whose work grows with what an account has stored or sends, by what they share. All other calls read or
 * change a few rows.
 */
export const HEAVY_CALLS: readonly HeavyGroup[] = [
  {
    methods: [
      EmailService.method.listEmails,
      EmailService.method.listRefusedSends,
      EventService.method.listEvents,
      SuppressionService.method.list,
      StatsService.method.getStats,
      // Shows the records and counters of up to 1,000 domains.
      DomainService.method.listDomains,
      // Adds up the hours of a month by domain.
      LimitsService.method.getLimits,
      OverviewService.method.getOverview,
      AuditService.method.listAuditEntries,
      NotificationService.method.listNotifications,
      // These count what waits for endpoints, which may be millions of dispatches.
      NotificationService.method.listTroubles,
      ...SHOWING_ENDPOINTS,
      ReplayService.method.countEvents,
      // Both count the dispatches of replays, up to a million of each.
      ReplayService.method.listReplays,
      ReplayService.method.getReplay,
    ],
    what: 'lists, counts and statistics',
    atOnce: 4,
    // Each holds one of the ten connections to the database, which sends need, too.
    ofAll: 5,
    maxWaiting: 16,
    waitMs: 2_000,
  },
  {
    // Counts up to a million events. A repeat that has waited finds the replay that the first call started.
    methods: [ReplayService.method.startReplay],
    what: 'the start of a replay',
    atOnce: 1,
    maxWaiting: 100,
    waitMs: 10_000,
  },
  {
    // Store up to 10,000 addresses, or wait for the lock of the account.
    methods: [
      SuppressionService.method.import,
      SuppressionService.method.undoImport,
      SuppressionService.method.lift,
      ImportService.method.startImport,
      ImportService.method.addPart,
    ],
    what: 'imports and lifts of addresses',
    atOnce: 4,
    maxWaiting: 16,
    waitMs: 10_000,
  },
]

const RETRY_SECONDS = 1
/** The right to a call that got its slot sooner was checked just before. */
const TURN_MS = 100

/**
 * Limits the heavy calls that run at a time in this process, of an account and of all, on every protocol and with every
 * credential. Accounts take turns. A call over a limit waits, one of a page for a moment and one of a program for
 * longer, and is then refused with `rate_limit_exceeded`. A call holds its slot until its work has ended, also when its
 * caller has left. A caller that lost the right to the call while it waited gets what the gate throws.
 */
export function createHeavyCallLimit(): Interceptor {
  // By name, because the gateway has its own descriptors.
  const groups = new Map(
    HEAVY_CALLS.flatMap(({ methods, what, atOnce, ofAll = Infinity, maxWaiting, waitMs }) => {
      const slots = createFairSlotsByKey({ slotsPerKey: atOnce, maxWaiting: BY_KEY.maxWaiting })
      // What sessions of an account have running and waiting.
      const ofSessions = createFairSlotsByKey({ slotsPerKey: atOnce + maxWaiting, maxWaiting: 0 })
      const all = new FairSlots({ slots: ofAll })
      const group = { what, atOnce, ofAll, waitMs, slots, all, ofSessions }
      return methods.map((method) => [nameOf(method), group] as const)
    }),
  )

  return (next) => async (request) => {
    const group = groups.get(nameOf(request.method))
    if (!group) return next(request)
    const { contextValues, signal } = request
    const { accountId, person } = callerOf({ values: contextValues })
    // It waits for its group, which other calls of the account do not.
    contextValues.get(endWorkKey)()
    const arrivedMs = performance.now()
    const leave = person ? await group.ofSessions.acquire(accountId) : () => {}
    if (!leave) throw tooMany(group)
    const limit = { untilMs: arrivedMs + (person ? group.waitMs : BY_KEY.waitMs), signal }
    const release = await group.slots.acquire(accountId, limit)
    if (!release) {
      leave()
      throw tooMany(group)
    }
    const releaseAll = await group.all.acquire({ accountId, ...limit })
    try {
      if (!releaseAll) throw tooManyOfAll(group)
      if (performance.now() - arrivedMs > TURN_MS) await contextValues.get(rightKey)?.check()
      return await next(request)
    } finally {
      releaseAll?.()
      release()
      leave()
    }
  }
}

const nameOf = (method: DescMethod) => `${method.parent.typeName}/${method.name}`

function tooMany({ what, atOnce }: Pick<HeavyGroup, 'what' | 'atOnce'>) {
  const most = atOnce === 1 ? 'one call' : `${atOnce} calls`
  return repeatLater(`This account can run ${most} at a time for ${what}.`)
}

const tooManyOfAll = ({ what, ofAll }: Required<Pick<HeavyGroup, 'what' | 'ofAll'>>) =>
  repeatLater(`All accounts together can run ${ofAll} calls at a time for ${what}.`)

const repeatLater = (words: string) =>
  fail('rate_limit_exceeded', `${words} Repeat this call in a second.`, { retryAfterSeconds: RETRY_SECONDS })
