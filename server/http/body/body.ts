import type { FairTurns } from '../../../net/fair-turns.ts'
import { networkOf } from '../../../net/network.ts'
import { callerKey, endWorkKey, rightKey } from '../../caller.ts'
import { fail } from '../../errors.ts'
import { type Call, LEFT, type RawRequest } from '../call.ts'
import { arriving, late, type Pace } from './arriving.ts'
import { type ByteBudget, createByteBudget, type GiveBack } from './byte-budget.ts'

export interface BodyLimits {
  /** Largest body. */
  maxBytes: number
  /** Time for a body to arrive. */
  timeoutMs: number
  /** The least pace of a body that holds a share of the budget. */
  pace?: Pace
  budget: ByteBudget
  /** The budget of small bodies: they never wait for large ones. */
  smallBudget: ByteBudget
  turns: FairTurns
  /** When it is aborted, streams of requests count as ended. */
  draining: AbortSignal
}

/** The limits of bodies from unknown callers, none of which is large. They take no memory from others. */
export function shortBodies(
  { turns, draining }: Pick<BodyLimits, 'turns' | 'draining'>,
  maxBytes = 16 * 1024,
): BodyLimits {
  const budget = createByteBudget({ totalBytes: 0, waitMs: 0 })
  const smallBudget = createByteBudget({ totalBytes: SHORT_TOTAL_BYTES, waitMs: 10_000 })
  return { maxBytes, timeoutMs: 10_000, budget, smallBudget, turns, draining }
}

const SHORT_TOTAL_BYTES = 32 * 2 ** 20

/** Bodies up to this size are small. */
export const SMALL_BYTES = 64 * 1024

/** Every call takes about this much beside its body: its request, its message and its conversation. */
export const LEAST_BYTES = 16 * 1024

/**
 * A body costs more than its bytes: it exists as bytes, text, parsed text, decoded content and the message built from
 * it, though never all at once. Measured with 200 sends of 10 MB at the same time; see docs/adr/0012-byte-budget.md.
 */
export const SHARE_FACTOR = 3

const EMPTY = Buffer.alloc(0)
const atLeast = (bytes: number) => Math.max(bytes, LEAST_BYTES)

/**
 * Reads a whole body; `sizeFrom` as in `bodyChunks`. Throws `payload_too_large`, `transient_failure` when memory is
 * short, `invalid_payload` when the body does not arrive in time, and what the gate throws when the caller has lost the
 * right to the call meanwhile.
 */
export async function readBody(call: Call, limits: BodyLimits, sizeFrom?: SizeFrom): Promise<Buffer> {
  const length = contentLength(call)
  const isSmall = length === undefined || length <= SMALL_BYTES
  const giveBack = isSmall ? await takeShare(call, atLeast(length ?? SMALL_BYTES), limits.smallBudget) : undefined
  const body = await readWhole(call, limits, sizeFrom)
  if (length === undefined) giveBack?.(atLeast(Math.min(body.length, SMALL_BYTES)) * SHARE_FACTOR)
  await beginWork(call, limits)
  const right = call.values.get(rightKey)
  if (right && performance.now() - call.startedAt > right.trustedMs) await right.check()
  return body
}

async function readWhole(call: Call, limits: BodyLimits, sizeFrom?: SizeFrom): Promise<Buffer> {
  const length = contentLength(call)
  if (length !== undefined && length <= SMALL_BYTES) return readSmall(call, length, limits.timeoutMs)
  if (length === undefined && sizeFrom) {
    const body = await readSized(call, sizeFrom, limits.timeoutMs)
    if (body) return body
  }
  const chunks: Buffer[] = []
  // Where the size is known, one buffer takes all chunks: joining them would take their size twice.
  let whole: Buffer | undefined
  let filled = 0
  for await (const chunk of bodyChunks(call, limits, { sizeFrom })) {
    const size = filled === 0 ? (length ?? sizeFrom?.(chunk)) : undefined
    if (size !== undefined) whole = Buffer.allocUnsafeSlow(size)
    if (whole) chunk.copy(whole, filled)
    else chunks.push(chunk)
    filled += chunk.length
  }
  return whole ? whole.subarray(0, filled) : joined(chunks)
}

/** Finds the size of a body in its start, for protocols that write it there. Undefined while the start is too short. */
type SizeFrom = (start: Buffer) => number | undefined

/** Enough for most requests, at a tenth of the cost of a generator. */
function readSmall(call: Call, length: number, timeoutMs: number): Promise<Buffer> {
  const { raw } = call
  if (length === 0) return Promise.resolve(EMPTY)
  // Also for a body that has arrived: without it, Node would close the connection after the response.
  allowBody(call)
  if (raw.readableLength === length) return Promise.resolve(takeArrived(raw))
  const chunks: Buffer[] = []
  let missing = length
  return listenToBody(call, timeoutMs, (settle) => ({
    data(chunk) {
      chunks.push(chunk)
      missing -= chunk.length
      if (missing <= 0) settle(joined(chunks))
    },
  }))
}

/**
 * Reads a small body whose first chunk has its size. Resolves with undefined, and leaves the body as it was, when the
 * body is not small or differs from its size: `bodyChunks` then reads or refuses it.
 */
function readSized(call: Call, sizeFrom: SizeFrom, timeoutMs: number): Promise<Buffer | undefined> {
  const { raw } = call
  if (raw.headers.expect !== undefined) return Promise.resolve(undefined)
  const chunks: Buffer[] = []
  let size: number | undefined
  let total = 0
  return listenToBody<Buffer | undefined>(call, timeoutMs, (settle) => ({
    data(chunk) {
      size ??= sizeFrom(chunk)
      chunks.push(chunk)
      total += chunk.length
      if (size !== undefined && size <= SMALL_BYTES && total <= size) return
      settle(undefined)
      raw.pause()
      raw.unshift(joined(chunks))
    },
    end: () => settle(joined(chunks)),
  }))
}

interface BodyListeners {
  data(chunk: Buffer): void
  end?(): void
}

/**
 * Listens until one of the listeners settles. Rejects when the body does not arrive in time, and when the caller
 * leaves: the call then gives back what it has taken.
 */
function listenToBody<Result>(
  call: Call,
  timeoutMs: number,
  listenersOf: (settle: (result: Result) => void) => BodyListeners,
): Promise<Result> {
  const { raw, response } = call
  return new Promise((resolve, reject) => {
    const leave = () => {
      stop()
      reject(call.closed ?? LEFT)
    }
    const stop = () => {
      clearTimeout(timer)
      response.off('close', leave)
      raw.off('data', data)
      if (end) raw.off('end', end)
    }
    const { data, end } = listenersOf((result) => {
      stop()
      resolve(result)
    })
    const timer = setTimeout(() => {
      stop()
      raw.resume()
      reject(late(timeoutMs))
    }, timeoutMs)
    raw.on('data', data)
    if (end) raw.on('end', end)
    response.once('close', leave)
    if (call.closed) leave()
  })
}

function joined(chunks: Buffer[]): Buffer {
  const [first, second] = chunks
  return first && !second ? first : Buffer.concat(chunks)
}

/** A small body mostly arrives with its head, and was parsed while the gate worked. */
function takeArrived(raw: RawRequest): Buffer {
  const body: Buffer = raw.read()
  raw.resume()
  return body
}

/**
 * Yields the chunks of a body as they arrive. A body of known size takes its share of the budget before its first byte
 * is read. `endless` is for a stream of requests, which has no deadline.
 */
export async function* bodyChunks(
  call: Call,
  limits: BodyLimits,
  { sizeFrom, endless = false }: { sizeFrom?: SizeFrom; endless?: boolean } = {},
): AsyncGenerator<Buffer> {
  const length = contentLength(call)
  refuseLarge(length, limits)
  let isCharged = false
  const charge = async (bytes: number) => {
    await takeShare(call, bytes, limits.budget)
    isCharged = true
  }
  if (length !== undefined && length > SMALL_BYTES) await charge(length)
  allowBody(call)

  let total = 0
  let size = length
  let start: Buffer = EMPTY
  for await (const chunk of arriving(
    call,
    endless ? { until: limits.draining } : { ...limits, isPaced: () => isCharged },
  )) {
    if (size === undefined && sizeFrom) {
      start = start.length === 0 ? chunk : Buffer.concat([start, chunk])
      size = sizeFrom(start)
      refuseLarge(size, limits)
      if (size !== undefined && size > SMALL_BYTES) await charge(size)
    }
    total += chunk.length
    refuseLarge(total, limits)
    if (total > (size ?? total)) throw fail('invalid_payload', 'The request has more than one message.')
    if (total > SMALL_BYTES && !isCharged) await charge(limits.maxBytes)
    yield chunk
  }
}

/** Tells a caller that waits with its body to send it, when it is the turn of its response on the connection. */
function allowBody({ raw, response }: Call): void {
  if (raw.headers.expect?.toLowerCase() !== '100-continue') return
  // Node would write it behind the head of a response whose turn has not come.
  if (response.socket) response.writeContinue()
  else response.once('socket', () => response.headersSent || response.writeContinue())
}

function contentLength({ raw }: Call): number | undefined {
  const length = raw.headers['content-length']
  return length === undefined ? undefined : Number(length)
}

export function refuseLarge(bytes: number | undefined, { maxBytes }: BodyLimits): void {
  if (bytes === undefined || bytes <= maxBytes) return
  throw fail('payload_too_large', `The request is larger than ${readableSize(maxBytes)}.`)
}

export const readableSize = (bytes: number) => (bytes < 2 ** 20 ? `${bytes / 2 ** 10} KiB` : `${bytes / 2 ** 20} MiB`)

/** Who is limited in what all callers share: the account, or the network of a caller without one. */
export const holderOf = (call: Call): string => call.values.get(callerKey)?.accountId || networkOf(call.remoteAddress)

/** Takes a share of a budget, beside those that the call has. Returns the function that gives it back. */
export async function takeShare(call: Call, bytes: number, budget: ByteBudget): Promise<GiveBack> {
  const wanted = bytes * SHARE_FACTOR
  const giveBack = budget.tryTake(wanted, holderOf(call)) ?? (await waitForShare(call, wanted, budget))
  untilEnd(call, giveBack)
  return giveBack
}

/** Waits for the turn of a call whose request has arrived. */
export async function beginWork(call: Call, { turns }: Pick<BodyLimits, 'turns'>): Promise<void> {
  const endWork = await turns.beginWork(holderOf(call), call)
  untilEnd(call, endWork)
  call.values.set(endWorkKey, endWork)
}

function untilEnd(call: Call, giveBack: () => void): void {
  const releaseOthers = call.release
  function release(): void {
    releaseOthers?.()
    giveBack()
  }
  call.release = release
}

async function waitForShare(call: Call, wanted: number, budget: ByteBudget): Promise<GiveBack> {
  const giveBack = await budget.take(wanted, holderOf(call), call.signal)
  if (!call.closed) return giveBack
  // The caller left while the share was given.
  giveBack()
  throw call.closed
}
