import type { DialFailure, DialOptions, Phases } from '../../../net/dial.ts'
import { createFairSlotsByKey } from '../../../net/fair-slots.ts'
import { createUrlGuard, type Destination } from '../../../net/url.ts'
import { createWitnessedDial } from '../../../net/witnessed-dial.ts'
import type { CauseCode } from './causes.ts'
import { Connections, type NewConnection } from './connections.ts'
import { excerptOf } from './excerpt.ts'
import { exchange, type NoResponse, type Request, type Response } from './exchange.ts'
import type { PostOutcome } from './post-outcomes.ts'

/** How a POST went, as the account owner may see it: nothing in it reveals an address of ours or our network. */
export interface PostResult {
  outcome: PostOutcome
  statusCode?: number
  phases: Phases
  /** Why there was no response, as far as that is known. */
  code?: CauseCode
  /** Where a redirect leads. */
  location?: string
  /** The first 1,024 octets of the response's body, as text. */
  excerpt?: string
  /** Whether the body was longer, or did not end. */
  excerptCut?: boolean
}

/** On whose behalf a POST is made. */
export interface Sender {
  /** The account whose slots at the origin are used. */
  accountId: string
  signal?: AbortSignal
}

/**
 * Resolves to undefined when no slot at the origin became free for the account in time, or a fault of this service
 * prevented a connection: nothing was sent, and no attempt was made. Rejects only with the reason of `signal`. What the
 * receiver did is then unknown.
 */
export type Post = (
  url: string,
  headers: Record<string, string>,
  body: Buffer,
  sender: Sender,
) => Promise<PostResult | undefined>

interface PostOptions extends DialOptions {
  /** CIDR. These ranges also allow http, any port and private addresses. */
  allowSubnets: readonly string[]
  /** Limits that differ from POST_LIMITS. */
  limits?: Partial<typeof POST_LIMITS>
}

/**
 * Milliseconds. `slotMs` limits the wait for a slot at the origin; `totalMs` begins after it. `connectMs` is for
 * look-up, TCP and TLS together, `headMs` begins after that, and `bodyMs` at the end of the head. `witnessPauseMs`: see
 * witnessed-dial.ts.
 */
export const POST_LIMITS = {
  ...{ slotMs: 2_000, totalMs: 10_000, connectMs: 3_000, headMs: 5_000, bodyMs: 1_000 },
  witnessPauseMs: 3_000,
}

/**
 * The slots of one origin, which all accounts with endpoints there share. An account may hold at most as many as are
 * still free: one alone gets half of them, and a few slow ones leave some for all others.
 */
const ORIGIN_SLOTS = { slotsPerKey: 128, perAccount: (free: number) => free }

/**
 * Makes the POSTs of attempts and of the API's test event. One POST: guard -> a slot at the origin -> an idle
 * connection, or a new one -> exchange -> the outcome that the status line decides. Call `close` when no POST is
 * running any more.
 */
export function createPost({ allowSubnets, limits: changes, ...dialling }: PostOptions) {
  const limits = { ...POST_LIMITS, ...changes }
  const urls = createUrlGuard({ allowSubnets })
  const slots = createFairSlotsByKey(ORIGIN_SLOTS)
  const connections = new Connections(createWitnessedDial(dialling, limits))

  const post: Post = async (url, headers, body, { accountId, signal }) => {
    signal?.throwIfAborted()
    const destination = urls.destinationOf(url)
    if (destination === undefined) return { outcome: 'blocked', phases: {} }
    await connections.load()
    const request = { path: destination.path, headers: { ...headers, 'Accept-Encoding': 'identity' }, body }
    const untilMs = performance.now() + limits.slotMs
    const release = await slots.acquire(destination.origin, { accountId, untilMs, signal })
    try {
      signal?.throwIfAborted()
      return release && (await postTo({ connections, destination, request, limits, signal }))
    } finally {
      release?.()
    }
  }

  return { post, urls, close: async () => connections.close() }
}

interface Posting {
  connections: Connections
  destination: Destination
  request: Request
  limits: typeof POST_LIMITS
  signal?: AbortSignal
}

async function postTo(posting: Posting): Promise<PostResult | undefined> {
  const untilMs = performance.now() + posting.limits.totalMs
  const first = await postOnce(posting, untilMs)
  if (!first.isStale) return first.result
  posting.connections.dropIdle(posting.destination.origin)
  return (await postOnce(posting, untilMs)).result
}

/**
 * `isStale`: an idle connection was closed without an octet of a response. Only a new connection can tell whether the
 * receiver works.
 */
async function postOnce(posting: Posting, untilMs: number) {
  const { connections, destination, request, limits, signal } = posting
  const idle = connections.takeIdle(destination.origin)
  const dialled = idle ? { kind: 'connected' as const, connection: idle, phases: {} } : await open(posting, untilMs)
  if (dialled.kind !== 'connected') {
    signal?.throwIfAborted()
    const { kind, code } = dialled
    if (kind === 'local') return { isStale: false, result: undefined }
    return { isStale: false, result: { outcome: kind, phases: rounded(dialled.phases), ...(code && { code }) } }
  }
  const { connection, phases } = dialled
  const response = await exchange(connection, request, { ...limits, untilMs }, signal)
  const isStale = connection.isUsed && response.kind === 'broken' && response.isSilent
  connections.release(connection)
  return { isStale, result: resultOf(response, phases) }
}

async function open(posting: Posting, untilMs: number): Promise<NewConnection | DialFailure> {
  const { connections, destination, limits, signal } = posting
  const deadline = new AbortController()
  const abort = () => deadline.abort()
  const timer = setTimeout(abort, Math.min(limits.connectMs, untilMs - performance.now()))
  signal?.addEventListener('abort', abort)
  try {
    const opened = await connections.open(destination, deadline.signal)
    // Also after an abort of `signal`, whose reason `postOnce` then throws.
    const isLate = deadline.signal.aborted
    return isLate && opened.kind !== 'connected' ? { ...opened, code: 'connect_timeout' } : opened
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
}

function resultOf(response: Response | NoResponse, dialling: Phases): PostResult {
  const phases = rounded({
    ...dialling,
    head: response.headMs,
    body: response.kind === 'response' ? response.bodyMs : undefined,
  })
  if (response.kind !== 'response') {
    const { code } = response
    return { outcome: outcomeWithout(response), phases, ...(code && { code }) }
  }
  const { statusCode, location, encoding = 'identity', isCut } = response
  const isPlain = encoding.toLowerCase() === 'identity'
  const text = excerptOf(response.excerpt, isCut)
  const excerpt = isPlain || text === undefined ? text : `(compressed: ${encoding})`
  const excerptFields = excerpt === undefined ? {} : { excerpt, excerptCut: isCut }
  return { outcome: outcomeOf(response), statusCode, phases, ...(location && { location }), ...excerptFields }
}

function outcomeWithout({ kind, code }: NoResponse): PostOutcome {
  if (kind === 'late') return 'timeout_head'
  return code?.startsWith('ERR_SSL_') ? 'tls' : 'connect'
}

/** The status line decides: HTTP 200 alone acknowledges, whatever happens to the body. */
function outcomeOf({ statusCode, body }: Response): PostOutcome {
  if (statusCode === 200) return 'acked'
  if (statusCode < 300) return 'success_but_not_200'
  return body === 'late' ? 'timeout_body' : 'not_200'
}

/** Rounds each phase to a tenth of a millisecond. */
function rounded(phases: Phases): Phases {
  const tenths: Phases = {}
  for (const [phase, ms] of Object.entries(phases))
    if (ms !== undefined) tenths[phase as keyof Phases] = Math.round(ms * 10) / 10
  return tenths
}
