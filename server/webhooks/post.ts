import { createDial, type DialFailure, type Phases } from '../egress/dial.ts'
import type { Lookup } from '../egress/lookup.ts'
import { createUrlGuard, type Destination } from '../egress/url.ts'
import { createSlots } from '../slots.ts'
import { createConnections, type Taken } from './connections.ts'
import { excerptOf } from './excerpt.ts'
import { type Answered, exchange, type Request, type Unanswered } from './exchange.ts'

export type PostOutcome =
  | 'acked'
  | 'dns'
  | 'blocked'
  | 'tls'
  | 'connect'
  | 'timeout_head'
  | 'timeout_body'
  | 'not_200'
  | 'success_but_not_200'

/** How a POST went, as its receiver's owner may see it: nothing in it tells an address of ours or how our network looks. */
export interface Posted {
  outcome: PostOutcome
  statusCode?: number
  phases: Phases
  /** The first 1,024 octets of the answer's body, as text. */
  excerpt?: string
  /** The body was longer, or did not come to its end. */
  excerptCut?: boolean
}

/** On whose behalf a POST is made. */
export interface Sender {
  /** Its places at the origin are used. */
  accountId: string
  signal?: AbortSignal
}

/**
 * Resolves to undefined when the account had no place at the origin in time: nothing was sent, and no attempt was made. Rejects only
 * with the reason of `signal`: what the receiver did is then unknown.
 */
export type Post = (
  url: string,
  headers: Record<string, string>,
  body: Buffer,
  sender: Sender,
) => Promise<Posted | undefined>

interface PostOptions {
  /** CIDR. Inside them also http, any port and private addresses. */
  allowSubnets: readonly string[]
  lookup: Lookup
  /** URL of an HTTP proxy. Nothing is read from the environment. */
  proxy?: string
  /** PEM, instead of the authorities that Node trusts (its own and NODE_EXTRA_CA_CERTS). */
  ca?: string
  /** Those that differ from POST_LIMITS. */
  limits?: Partial<typeof POST_LIMITS>
}

/**
 * Milliseconds. `placeMs` is the wait for a place at the origin; `totalMs` begins after it. `connectMs` is for look-up, TCP and TLS
 * together, `headMs` from then on, and `bodyMs` from the end of the head.
 */
export const POST_LIMITS = { placeMs: 2_000, totalMs: 10_000, connectMs: 3_000, headMs: 5_000, bodyMs: 1_000 }

/**
 * POSTs in flight to one origin, of all accounts. An account may hold as many places as it leaves free: one account alone takes half of
 * them, and a few that hold theirs for long leave some for all others.
 */
const PLACES = { perKey: 128, perTurn: (free: number) => free }

/**
 * One POST of a webhook: guard -> a place at the origin -> a connection that is there, or a new one -> exchange -> what its status
 * line says. Call `close` when no POST is running any more.
 */
export function createPost({ allowSubnets, lookup, proxy, ca, limits: others }: PostOptions) {
  const limits = { ...POST_LIMITS, ...others }
  const urls = createUrlGuard({ allowSubnets })
  const places = createSlots(PLACES)
  const connections = createConnections(createDial({ lookup, proxy, ca }))

  const post: Post = async (url, headers, body, { accountId, signal }) => {
    signal?.throwIfAborted()
    const destination = urls.destinationOf(url)
    if (destination === undefined) return { outcome: 'blocked', phases: {} }
    const request = { path: destination.path, headers: { ...headers, 'Accept-Encoding': 'identity' }, body }
    const untilMs = performance.now() + limits.placeMs
    const free = await places.take(destination.origin, { turn: accountId, untilMs, signal })
    try {
      signal?.throwIfAborted()
      return free && (await postTo(destination, request, signal))
    } finally {
      free?.()
    }
  }

  async function postTo(destination: Destination, request: Request, signal?: AbortSignal): Promise<Posted> {
    const untilMs = performance.now() + limits.totalMs
    const first = await postOnce(destination, request, untilMs, signal)
    if (!first.isStale) return first.posted
    connections.dropIdle(destination.origin)
    return (await postOnce(destination, request, untilMs, signal)).posted
  }

  /** `isStale`: a kept connection was closed without an octet of an answer. Only a fresh one can tell how the receiver is. */
  async function postOnce(destination: Destination, request: Request, untilMs: number, signal?: AbortSignal) {
    const idle = connections.takeIdle(destination.origin)
    const taken = idle
      ? { kind: 'taken' as const, connection: idle, phases: {} }
      : await open(destination, untilMs, signal)
    if (taken.kind !== 'taken') {
      signal?.throwIfAborted()
      return { isStale: false, posted: { outcome: taken.kind, phases: rounded(taken.phases) } }
    }
    const { connection } = taken
    const answer = await exchange(connection, request, { ...limits, untilMs }, signal)
    const isStale = connection.isUsed && answer.kind === 'broken' && answer.isSilent
    connections.release(connection)
    return { isStale, posted: postedOf(answer, taken.phases) }
  }

  async function open(destination: Destination, untilMs: number, signal?: AbortSignal): Promise<Taken | DialFailure> {
    const deadline = new AbortController()
    const abort = () => deadline.abort()
    const timer = setTimeout(abort, Math.min(limits.connectMs, untilMs - performance.now()))
    signal?.addEventListener('abort', abort)
    try {
      return await connections.open(destination, deadline.signal)
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
    }
  }

  return { post, urls, close: async () => connections.close() }
}

function postedOf(answer: Answered | Unanswered, dialling: Phases): Posted {
  const phases = rounded({
    ...dialling,
    head: answer.headMs,
    body: answer.kind === 'answered' ? answer.bodyMs : undefined,
  })
  if (answer.kind !== 'answered') return { outcome: unanswered(answer), phases }
  const { statusCode, isCut, kept } = answer
  const excerpt = excerptOf(kept, isCut)
  return { outcome: answered(answer), statusCode, phases, ...(excerpt !== undefined && { excerpt, excerptCut: isCut }) }
}

function unanswered({ kind, isTls }: Unanswered): PostOutcome {
  if (kind === 'late') return 'timeout_head'
  return isTls ? 'tls' : 'connect'
}

/** The status line decides: 200 is an acknowledgement, however its body goes on, and nothing else is one. */
function answered({ statusCode, body }: Answered): PostOutcome {
  if (statusCode === 200) return 'acked'
  if (statusCode < 300) return 'success_but_not_200'
  return body === 'late' ? 'timeout_body' : 'not_200'
}

function rounded(phases: Phases): Phases {
  const tenths: Phases = {}
  for (const [phase, ms] of Object.entries(phases))
    if (ms !== undefined) tenths[phase as keyof Phases] = Math.round(ms * 10) / 10
  return tenths
}
