import { unblocked } from './alarm.ts'
import type { Delivery, Host } from './attempt.ts'
import { runLane } from './lane.ts'
import type { DomainMail, LaneTools } from './lane-state.ts'
import type { createLateReplies } from './late-replies.ts'
import { placeRefusal } from './next-hosts.ts'
import { createOwnTime } from './own-time.ts'
import type { Pool } from './pool.ts'
import { type IndexedAddress, RecipientQueue, type SettledRecipient } from './recipient-queue.ts'
import { wordsOf } from './reply.ts'
import { openSession, type SessionOptions } from './session.ts'
import type { Place } from './site-connections.ts'
import type { SiteOfAddress } from './site-places.ts'
import type { createSlowSites } from './slow-sites.ts'
import { createStopwatch, type PhaseReport } from './stopwatch.ts'

/** One message to the recipients of one domain: one transaction, or more where the server limits their number. */
export interface DomainDelivery extends DomainMail {
  /** The site as the pool knows it. */
  siteOfAddress: SiteOfAddress
  accountId?: string
  recipients: IndexedAddress[]
  reference?: string
  startedAtMs: number
  /** What was this service's own of the time since. */
  ownMs: number
  lookUpMs?: number
  /** The pool has given a connection by then. */
  placeMs: number
  beforeDot: Delivery['beforeDot']
  signal?: AbortSignal
  onPhase?: Delivery['onPhase']
}

export interface DeliveryTools {
  pool: Pool
  lateReplies: ReturnType<typeof createLateReplies>
  slowSites: ReturnType<typeof createSlowSites>
  opening: SessionOptions
}

/** One attempt at each recipient. */
export async function deliverToDomain(tools: DeliveryTools, delivery: DomainDelivery): Promise<SettledRecipient[]> {
  const { pool, lateReplies } = tools
  const { site, siteOfAddress, accountId, startedAtMs, deadlines, placeMs, signal } = delivery
  const { limits } = siteOfAddress
  using _ = unblocked.watch()
  const own = createOwnTime(deadlines.dotMs - startedAtMs, delivery.ownMs, delivery.lookUpMs)
  const queue = new RecipientQueue(delivery.recipients, { startedAtMs, own, skipped: site.skipped })
  const place = await own.during(pool.acquire(siteOfAddress, { accountId, untilMs: placeMs, signal }))
  if (place.kind === 'none') return queue.close(place.cause, true)
  if (place.session?.messages === limits.messages - 1) void openSuccessor(tools, delivery, place.session.host)

  /** The caller was asked for permission to send a dot, and may have noted that. */
  let isPermissionAsked = false
  /** Lanes share it, so that no exchanger is looked up or noted twice. */
  let further: Promise<Host[]> | undefined
  const lookUpFurther = async () => {
    if (!site.further) return []
    const request = { accountId, untilMs: deadlines.dotMs, signal: shared.signal() }
    const { hosts, skipped = [] } = await own.during(site.further(request))
    queue.skip(skipped)
    return hosts
  }
  const lanes: Promise<void>[] = []
  let running = 0
  const start = async (place: Place, isFirst: boolean) => {
    running++
    await runLane(shared, place, isFirst)
    running--
  }
  const shared: LaneTools = {
    ...delivery,
    limits,
    opening: tools.opening,
    slowSites: tools.slowSites,
    queue,
    own,
    atATime: Infinity,
    transacting: 0,
    isStopped: false,
    async beforeDot(recipients) {
      isPermissionAsked = true
      let isPermitted = false
      try {
        const indexes = recipients.map(({ index }) => index)
        isPermitted = (await own.during(delivery.beforeDot(indexes, queue.refused()))) === true
      } finally {
        shared.isStopped ||= !isPermitted
      }
      return isPermitted
    },
    signal: () => (isPermissionAsked ? undefined : signal),
    phaseReport: (host) => phaseReportOf(delivery, host),
    waitForLateReply: (session) => void lateReplies.waitFor(session, delivery),
    spread(count) {
      while (running < count) {
        const spare = pool.tryAcquire(siteOfAddress, accountId, count - running)
        if (!spare) return
        lanes.push(start(spare, false))
      }
    },
    further: () => (further ??= lookUpFurther()),
    async nextPlace() {
      const request = { accountId, untilMs: deadlines.nextPlaceMs, signal: shared.signal() }
      const next = await own.during(pool.acquire(siteOfAddress, request))
      return next.kind === 'place' ? next : undefined
    },
  }
  lanes.push(start(place, true))
  for (const lane of lanes) await lane
  return queue.close(shared.isStopped ? 'no leave for the dot' : 'no time was left', shared.isStopped || own.tookTime())
}

function phaseReportOf({ onPhase }: DomainDelivery, { name }: Host): PhaseReport | undefined {
  return onPhase && ((phase, fromMs, toMs) => onPhase(phase, name, fromMs, toMs))
}

/**
 * Opens the connection that follows one with its last message, so that the next send does not wait for it. A failure
 * says nothing: that send will meet it, and report it.
 */
async function openSuccessor(
  { pool, opening }: DeliveryTools,
  { site, siteOfAddress, sourceAddress, accountId, commandMs, deadlines }: DomainDelivery,
  host: Host,
): Promise<void> {
  const place = pool.trySpare(siteOfAddress, accountId)
  if (!place) return
  // It may outlive the delivery.
  using _ = unblocked.watch()
  const beganAtMs = performance.now()
  const { key, name = key, tlsDemandedBy } = site
  const times = { connectMs: opening.limits.connectMs, greetingMs: commandMs, commandMs, untilMs: deadlines.dotMs }
  const call = { host, site: name, sourceAddress, tlsDemandedBy, ...times, stopwatch: createStopwatch() }
  const opened = await openSession(opening, call).catch(() => undefined)
  if (opened?.kind === 'session') {
    place.opened()
    place.release(opened)
    return
  }
  const refusal = opened && placeRefusal(opened, host)
  if (refusal) place.refused({ beganAtMs, reply: wordsOf(refusal) })
  place.release()
}
