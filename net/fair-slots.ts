import { createKeyedAmounts } from './keyed-amounts.ts'

/** Frees the slot. Call it once. */
export type Release = () => void

/** When a request leaves the queue without a slot. Without either field it waits indefinitely. */
export interface WaitLimit {
  /** On the clock of `performance.now()`. */
  untilMs?: number
  signal?: AbortSignal
}

export interface SlotRequest extends WaitLimit {
  /** Any key of the caller; requests without one share the empty key. */
  accountId?: string
}

export interface SlotLoad {
  inUse: number
  waiting: number
}

export interface FairSlotsOptions {
  slots: number
  /**
   * The most slots of one account, so that some are left for others. By default it is all of them. A function computes
   * it from the number of free slots.
   */
  perAccount?: number | ((free: number) => number)
  /** The most requests that wait, over all accounts. */
  maxWaiting?: number
}

/** Resolves a waiting request. */
type Resolve = (release: Release | undefined) => void

/**
 * Limits concurrent work: SMTP connections, DNS queries, webhook POSTs, domain checks. The terms are the same wherever
 * slots are used:
 *
 * - A slot is the right to do one piece of work at a time. It is acquired, and later released.
 * - A request that finds no free slot waits in the queue of its account until its wait limit.
 * - Accounts are served round-robin and each queue in order: many requests of one account delay another account by
 *   at most one slot.
 */
export class FairSlots {
  readonly #held = createKeyedAmounts()
  /** The waiting requests by account, in the order in which accounts are served. No queue is empty. */
  readonly #queues = new Map<string, Set<Resolve>>()
  readonly #maxWaiting: number
  #total: number
  #free: number
  #maxOfAccount: (free: number) => number
  #waiting = 0

  constructor({ slots, perAccount = slots, maxWaiting = Infinity }: FairSlotsOptions) {
    this.#maxWaiting = maxWaiting
    this.#total = slots
    this.#free = slots
    this.#maxOfAccount = boundOf(perAccount)
  }

  /** Acquires a slot without waiting. Returns undefined when none is free or the account holds as many as it may. */
  tryAcquire(accountId = ''): Release | undefined {
    if (this.#free <= 0 || this.#held.of(accountId) >= this.#maxOfAccount(this.#free)) return undefined
    this.#free--
    this.#held.add(accountId, 1)
    return () => {
      this.#held.add(accountId, -1)
      this.#free++
      this.#serveQueues()
    }
  }

  /** Waits for a slot. Resolves to undefined at the wait limit, or at once when too many requests wait already. */
  async acquire(request: SlotRequest = {}): Promise<Release | undefined> {
    if (request.signal?.aborted) return undefined
    const release = this.tryAcquire(request.accountId)
    return release ?? (this.#waiting < this.#maxWaiting ? this.#waitInQueue(request) : undefined)
  }

  /** Whether all slots are free. */
  isUnused(): boolean {
    return this.#free === this.#total
  }

  /** How many slots are held, and how many requests wait for one. */
  load(): SlotLoad {
    return { inUse: this.#total - this.#free, waiting: this.#waiting }
  }

  /** The number of slots. */
  size(): number {
    return this.#total
  }

  /** Changes the number of slots. Slots that are held stay held: none is free until fewer than `slots` are held. */
  resize(slots: number, perAccount: FairSlotsOptions['perAccount'] = slots): void {
    this.#free += slots - this.#total
    this.#total = slots
    this.#maxOfAccount = boundOf(perAccount)
    this.#serveQueues()
  }

  /** Resolves all waiting requests to undefined. Slots that are held stay held until they are released. */
  close(): void {
    const requests = [...this.#queues.values()].flatMap((queue) => [...queue])
    this.#queues.clear()
    this.#waiting = 0
    for (const resolve of requests) resolve(undefined)
  }

  /** Hands free slots to waiting requests. Moves each served account to the end, where the loop meets it again. */
  #serveQueues(): void {
    for (const [accountId, queue] of this.#queues) {
      if (this.#free <= 0) return
      const [resolve] = queue
      const release = resolve && this.tryAcquire(accountId)
      if (!release) continue
      this.#leaveQueue(accountId, resolve)
      if (this.#queues.delete(accountId)) this.#queues.set(accountId, queue)
      resolve(release)
    }
  }

  #leaveQueue(accountId: string, resolve: Resolve): void {
    const queue = this.#queues.get(accountId)
    if (!queue?.delete(resolve)) return
    this.#waiting--
    if (queue.size === 0) this.#queues.delete(accountId)
  }

  #waitInQueue({ accountId = '', untilMs, signal }: SlotRequest): Promise<Release | undefined> {
    return new Promise((resolvePromise) => {
      const resolve: Resolve = (release) => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', giveUp)
        resolvePromise(release)
      }
      const giveUp = () => {
        this.#leaveQueue(accountId, resolve)
        resolve(undefined)
      }
      const timer = untilMs === undefined ? undefined : setTimeout(giveUp, Math.max(0, untilMs - performance.now()))
      signal?.addEventListener('abort', giveUp)
      const queue = this.#queues.get(accountId) ?? new Set()
      this.#queues.set(accountId, queue.add(resolve))
      this.#waiting++
    })
  }
}

function boundOf(perAccount: NonNullable<FairSlotsOptions['perAccount']>): (free: number) => number {
  return typeof perAccount === 'function' ? perAccount : () => perAccount
}

/** A `perAccount` that leaves as many to others, however many accounts there are. */
export const asManyAsLeft = (free: number): number => free

/** The usual `perAccount`: 80 % of the slots, rounded up, so that a fifth is left for others. */
export function fourFifths(slots: number): number {
  return Math.ceil(slots * 0.8)
}

export interface FairSlotsByKeyOptions extends Omit<FairSlotsOptions, 'slots'> {
  slotsPerKey: number
}

/**
 * Separate slots for each key, such as an endpoint's host. Creates those of a key at its first use, and forgets them
 * when all of them are free.
 */
export function createFairSlotsByKey({ slotsPerKey, ...options }: FairSlotsByKeyOptions) {
  const slotsByKey = new Map<string, FairSlots>()

  return {
    /** As in `FairSlots`. */
    async acquire(key: string, request: SlotRequest = {}): Promise<Release | undefined> {
      if (request.signal?.aborted) return undefined
      const slots = slotsByKey.get(key) ?? new FairSlots({ slots: slotsPerKey, ...options })
      slotsByKey.set(key, slots)
      const release = await slots.acquire(request)
      return (
        release &&
        (() => {
          release()
          if (slots.isUnused()) slotsByKey.delete(key)
        })
      )
    },
  }
}
