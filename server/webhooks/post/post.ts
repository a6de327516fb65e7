import type { DialOptions, Phases } from '../../../net/dial.ts'
import { createFairSlotsByKey } from '../../../net/fair-slots.ts'
import { createUrlGuard, type Destination } from '../../../net/url.ts'
import { createWitnessedDial } from '../../../net/witnessed-dial.ts'
import type { CauseCode } from './causes.ts'
import { type Connection, Connections } from './connections.ts'
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
  const { connections, destination, limits, signal } = posting
  const untilMs = performance.now() + limits.totalMs
  const idle = connections.takeIdle(destination.origin)
  if (idle) {
    const response = await exchangeOn(posting, idle, untilMs)
    // The receiver may have closed it meanwhile. Only a new connection can then tell whether the receiver works.
    if (!response.isSilent) return resultOf(response, {})
  }
  const connectMs = Math.min(limits.connectMs, untilMs - performance.now())
  const deadline = AbortSignal.timeout(Math.max(0, Math.ceil(connectMs)))
  const opened = await connections.open(destination, signal ? AbortSignal.any([signal, deadline]) : deadline)
  if (opened.kind === 'connected') return resultOf(await exchangeOn(posting, opened.connection, untilMs), opened.phases)
  signal?.throwIfAborted()
  const { kind: outcome, phases } = opened
  const code = deadline.aborted ? 'connect_timeout' : opened.code
  return outcome === 'local' ? undefined : { outcome, phases: rounded(phases), code }
}

async function exchangeOn(posting: Posting, connection: Connection, untilMs: number): Promise<Response | NoResponse> {
  const { connections, request, limits, signal } = posting
  const response = await exchange(connection, request, { ...limits, untilMs }, signal)
  connections.release(connection)
  return response
}

function resultOf(response: Response | NoResponse, dialling: Phases): PostResult {
  const phases = rounded({ ...dialling, ...response.phases })
  if (response.statusCode === undefined) return { outcome: outcomeWithout(response), phases, code: response.code }
  const { statusCode, location, encoding = 'identity', isCut } = response
  const isPlain = encoding.toLowerCase() === 'identity'
  const text = excerptOf(response.excerpt, isCut)
  const excerpt = isPlain || text === undefined ? text : `(compressed: ${encoding})`
  const excerptCut = excerpt !== undefined && isCut
  return { outcome: outcomeOf(response), statusCode, phases, location, excerpt, excerptCut }
}

function outcomeWithout({ isLate, code }: NoResponse): PostOutcome {
  if (isLate) return 'timeout_head'
  return code?.startsWith('ERR_SSL_') ? 'tls' : 'connect'
}

/** The status line decides: HTTP 200 alone acknowledges, whatever happens to the body. */
function outcomeOf({ statusCode, isLate }: Response): PostOutcome {
  if (statusCode === 200) return 'acked'
  if (statusCode < 300) return 'success_but_not_200'
  return isLate ? 'timeout_body' : 'not_200'
}

/** Rounds each phase to a tenth of a millisecond. */
const rounded = (phases: Phases): Phases =>
  Object.fromEntries(Object.entries(phases).map(([phase, ms]) => [phase, Math.round(ms * 10) / 10]))
