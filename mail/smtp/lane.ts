import type { Host } from './attempt.ts'
import type { Failure } from './failure.ts'
import type { Lane, LaneTools } from './lane-state.ts'
import { FURTHER, hostsAfter, otherHosts, placeRefusal } from './next-hosts.ts'
import { noteResult } from './note-result.ts'
import { type Evidence, noteWithoutTls } from './recipient-queue.ts'
import { wordsOf } from './reply.ts'
import { openSession, type Session, type SessionRequest, takesMore, unlessCutOff } from './session.ts'
import { serverAt } from './shown.ts'
import type { Place } from './site-connections.ts'
import { createStopwatch, type Stopwatch } from './stopwatch.ts'
import { transact } from './transaction.ts'
import { unlessAllEnd } from './transaction-reach.ts'

/** Sends to the recipients that wait, until none is left or no connection can be had, and releases the place. */
export async function runLane(tools: LaneTools, place: Place, isFirst: boolean): Promise<void> {
  const hosts = silentLast(tools, [...tools.site.hosts, ...(tools.site.further ? [FURTHER] : [])])
  const permissions = { mayRepeat: true, mayWaitForPlace: isFirst }
  const lane: Lane = { isFirst, hosts, ...permissions, isReused: false, isUnproven: false, silent: 0 }
  use(lane, place)
  const isOver = () => tools.isStopped || performance.now() >= tools.deadlines.dotMs
  const isDone = () => tools.queue.waiting.size === 0 || isOver()
  try {
    while (lane.place && !isDone()) {
      const session = lane.session ?? (await connect(tools, lane))
      if (!session) break
      // Each transaction counts for the messages a minute of the site.
      const mayMail = lane.place.mayMail({ untilMs: tools.deadlines.dotMs, signal: tools.signal() })
      if (mayMail !== true && !(await tools.own.during(mayMail))) break
      await transactOnce(tools, lane, lane.place, session)
      if (lane.session && !takesMore(session, tools.limits) && !isDone()) await endSession(lane, session)
    }
    noteUntried(tools, lane)
  } finally {
    lane.place?.release(lane.session)
  }
}

/** Our waits took some of the time that a host lacked. It may have taken the message, so silence proves nothing. */
function noteUntried({ queue, own }: LaneTools, { isFirst, hosts: [host] }: Lane): void {
  if (isFirst && host && own.tookTime())
    queue.skip([{ mx: host.name, detail: 'waits of this service left no time for it', isOurs: true }])
}

/** A host that was silent a moment ago is asked, but last. */
function silentLast({ opening }: LaneTools, hosts: Host[]): Host[] {
  const isSilent = (host: Host) => opening.silentHosts.has(host)
  return [...hosts.filter((host) => !isSilent(host)), ...hosts.filter(isSilent)]
}

function use(lane: Lane, place: Place | undefined): void {
  lane.place = place
  lane.session = place?.session
  lane.isReused = lane.isUnproven = lane.session !== undefined
}

/** Opens a session for the lane. Returns undefined when no host and no time is left for one. */
async function connect(tools: LaneTools, lane: Lane): Promise<Session | undefined> {
  while (!lane.session) {
    const { place, hosts } = lane
    const [host, ...rest] = hosts
    if (!place || !host || performance.now() >= tools.deadlines.dotMs) return undefined
    if (host === FURTHER) lane.hosts = silentLast(tools, [...(await tools.further()), ...rest])
    else await open(tools, lane, place, host)
  }
  return lane.session
}

async function open(tools: LaneTools, lane: Lane, place: Place, host: Host): Promise<void> {
  const beganAtMs = performance.now()
  const stopwatch = createStopwatch(tools.phaseReport(host))
  const call = callTo(tools, lane, host, stopwatch)
  const session = await openSession(tools.opening, call)
  if (session.kind === 'session') {
    tools.opening.silentHosts.forget(host)
    place.opened()
    Object.assign(lane, { session, stopwatch, isReused: false, isUnproven: false })
    return
  }
  stopwatch.end()
  const blamed = tools.own.blame(session, timeFor(session, call))
  if (lane.isFirst) noteFailure(tools, blamed, call)
  if (blamed.how === 'timeout' && (blamed.phase === 'connect' || blamed.phase === 'greeting')) {
    tools.opening.silentHosts.add(host)
    lane.silent++
  }
  const { hosts, mayRepeat } = lane
  lane.hosts = lane.isFirst ? hostsAfter(session, { hosts, host, isUsed: false, mayRepeat }) : []
  lane.mayRepeat &&= session.how !== 'garbage'
  const refusal = placeRefusal(blamed, host)
  if (!refusal) return
  place.refused({ beganAtMs, reply: wordsOf(refusal) })
  if (!lane.mayWaitForPlace) return
  lane.mayWaitForPlace = false
  lane.hosts = lane.hosts.length > 0 ? lane.hosts : [host]
  place.release()
  use(lane, await tools.nextPlace())
}

function callTo(tools: LaneTools, lane: Lane, host: Host, stopwatch: Stopwatch): SessionRequest {
  const { site, sourceAddress, commandMs, deadlines, own } = tools
  const { key, name = key, tlsDemandedBy } = site
  const times = { ...timesToOpen(tools, lane, host), commandMs, untilMs: deadlines.dotMs }
  return { host, site: name, sourceAddress, tlsDemandedBy, ...times, signal: tools.signal(), stopwatch, own }
}

/** How long a host may be silent. The last one has more time, and after two silent ones each has less. */
function timesToOpen({ opening, commandMs }: LaneTools, { hosts, silent }: Lane, host: Host) {
  const { connectMs, hastyMs } = opening.limits
  if (silent >= 2) return { connectMs: hastyMs, greetingMs: hastyMs }
  const isLast = otherHosts(hosts, host).length === 0
  if (isLast) return { connectMs: Math.max(connectMs, commandMs), greetingMs: commandMs }
  return { connectMs, greetingMs: Math.min(connectMs, commandMs) }
}

function timeFor({ phase }: Failure, { connectMs, greetingMs, commandMs }: SessionRequest): number {
  return phase === 'connect' ? connectMs : phase === 'greeting' ? greetingMs : commandMs
}

function noteFailure({ queue }: LaneTools, failure: Failure, { host, stopwatch }: SessionRequest): void {
  const { ip, tls = null, withoutTls } = failure
  const evidence = { mx: host.name, ip, tls }
  const recipients = [...queue.waiting]
  for (const { timings } of recipients) stopwatch.addTo(timings, 0)
  if (withoutTls) noteWithoutTls(recipients, withoutTls, evidence)
  queue.fail(recipients, failure, evidence)
}

/** One transaction with as many of the recipients that wait as the server takes at a time. */
async function transactOnce(tools: LaneTools, lane: Lane, place: Place, session: Session): Promise<void> {
  const { queue, slowSites, site } = tools
  const { isReused } = lane
  const { host, ip, tls, withoutTls, extensions } = session
  const isUsed = isReused || session.messages > 0
  const stopwatch = lane.stopwatch ?? createStopwatch(tools.phaseReport(host))
  const slowMax = session.delaysEachRecipient ? 1 : slowSites.atATime(site.key)
  const max = Math.min(extensions.maxRecipients ?? Infinity, tools.atATime, slowMax)
  const recipients = queue.take(session, max, !isReused)
  const transaction = tools.nextTransaction()
  const evidence: Evidence = { mx: host.name, ip, tls, reused: isUsed || undefined, transaction }
  if (withoutTls) {
    noteWithoutTls(recipients, withoutTls, evidence)
    session.withoutTls = undefined
  }

  tools.transacting++
  const spread = () => tools.spread(tools.transacting + Math.ceil(queue.waiting.size / max))
  if (slowMax < Infinity) spread()
  const timer = queue.waiting.size > 0 ? setInterval(spread, tools.opening.limits.spreadMs) : undefined
  const beganAtMs = performance.now()
  const result = await transact(session, {
    sender: tools.sender,
    from: tools.from,
    content: tools.content,
    deadlines: tools.deadlines,
    recipients: recipients.map(({ address }) => address),
    beforeDot: (accepted) => tools.beforeDot(recipients.filter((_, i) => accepted.includes(i))),
    ...patience(tools, lane, session),
    slowRcptMs: tools.opening.limits.slowRcptMs,
    signal: tools.signal(),
    stopwatch,
  })
  clearInterval(timer)
  tools.transacting--
  stopwatch.end()
  const dialled = { host, site: site.name ?? site.key, sourceAddress: tools.sourceAddress }
  if (result.failure)
    result.failure = await unlessCutOff(tools.opening, { ...result.failure, ip }, { ...tools, ...dialled })
  result.failure = await unlessAllEnd(tools.opening.shown, serverAt(ip, dialled), { result, beganAtMs, isUsed })
  lane.stopwatch = undefined
  lane.isUnproven = false
  noteResult(tools, lane, { place, session, recipients, result, evidence, stopwatch, isUsed, beganAtMs })
}

/**
 * How long the replies may take. A server that has just replied may take the time that is left, where no other host
 * could use it or the last one was as slow.
 */
function patience({ site, slowSites, commandMs }: LaneTools, { isUnproven, hosts }: Lane, { host }: Session) {
  const hasOtherHost = hosts.some(({ name }) => name !== host.name)
  const isPatient = site.commandTimeoutMs === undefined && (!hasOtherHost || slowSites.isSlowAtRcpt(site.key))
  const replyMs = isPatient ? Infinity : commandMs
  return { firstReplyMs: isUnproven ? commandMs : replyMs, replyMs }
}

/** Closes a session that takes no more, and waits for its end: until then it is one of the site's connections. */
async function endSession(lane: Lane, { wire }: Session): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  wire.quit(resolve)
  lane.session = undefined
  await promise
}
