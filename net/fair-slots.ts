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

/**
 * Limits concurrent work: SMTP connections, DNS queries, webhook POSTs, domain checks. The terms are the same wherever
 * slots are used:
 *
 * - A slot is the right to do one piece of work at a time. It is acquired, and later released.
 * - A request that finds no free slot waits in the queue of its account until its wait limit.
 * - Accounts are served round-robin and each queue in order: many requests of one account delay another account by
 *   at most one slot.
 */
export interface FairSlots {
  /** Acquires a slot without waiting. Returns undefined when none is free or the account holds as many as it may. */
  tryAcquire(accountId?: string): Release | undefined
  /** Waits for a slot. Resolves to undefined at the wait limit, or at once when too many requests wait already. */
  acquire(request?: SlotRequest): Promise<Release | undefined>
  /** Whether all slots are free. */
  isUnused(): boolean
  /** How many slots are held, and how many requests wait for one. */
  load(): SlotLoad
  /** The number of slots. */
  size(): number
  /** Changes the number of slots. Slots that are held stay held: none is free until fewer than `slots` are held. */
  resize(slots: number, perAccount?: FairSlotsOptions['perAccount']): void
  /** Resolves all waiting requests to undefined. Slots that are held stay held until they are released. */
  close(): void
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

export function createFairSlots({ slots, perAccount = slots, maxWaiting = Infinity }: FairSlotsOptions): FairSlots {
  let total = slots
  let maxOfAccount = boundOf(perAccount)
  const held = createKeyedAmounts()
  /** The waiting requests by account, in the order in which accounts are served. No queue is empty. */
  const queues = new Map<string, Set<Resolve>>()
  let free = slots
  let waiting = 0

  function tryAcquire(accountId = ''): Release | undefined {
    return free > 0 && held.of(accountId) < maxOfAccount(free) ? hold(accountId) : undefined
  }

  function hold(accountId: string): Release {
    free--
    held.add(accountId, 1)
    return () => {
      held.add(accountId, -1)
      free++
      serveQueues()
    }
  }

  /** Hands free slots to waiting requests. Moves each served account to the end, where the loop meets it again. */
  function serveQueues(): void {
    for (const [accountId, queue] of queues) {
      if (free <= 0) return
      const release = tryAcquire(accountId)
      if (!release) continue
      const [resolve] = queue
      leaveQueue(accountId, resolve!)
      if (queues.delete(accountId)) queues.set(accountId, queue)
      resolve!(release)
    }
  }

  function leaveQueue(accountId: string, resolve: Resolve): void {
    const queue = queues.get(accountId)
    if (!queue?.delete(resolve)) return
    waiting--
    if (queue.size === 0) queues.delete(accountId)
  }

  function waitInQueue({ accountId = '', untilMs, signal }: SlotRequest): Promise<Release | undefined> {
    return new Promise((resolvePromise) => {
      const resolve: Resolve = (release) => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', giveUp)
        resolvePromise(release)
      }
      const giveUp = () => {
        leaveQueue(accountId, resolve)
        resolve(undefined)
      }
      const timer = untilMs === undefined ? undefined : setTimeout(giveUp, Math.max(0, untilMs - performance.now()))
      signal?.addEventListener('abort', giveUp)
      const queue = queues.get(accountId) ?? new Set()
      queues.set(accountId, queue.add(resolve))
      waiting++
    })
  }

  return {
    tryAcquire,
    async acquire(request = {}) {
      if (request.signal?.aborted) return undefined
      return tryAcquire(request.accountId) ?? (waiting < maxWaiting ? waitInQueue(request) : undefined)
    },
    isUnused: () => free === total,
    load: () => ({ inUse: total - free, waiting }),
    size: () => total,
    resize(slots, perAccount = slots) {
      free += slots - total
      total = slots
      maxOfAccount = boundOf(perAccount)
      serveQueues()
    },
    close() {
      const requests = [...queues.values()].flatMap((queue) => [...queue])
      queues.clear()
      waiting = 0
      for (const resolve of requests) resolve(undefined)
    },
  }
}

function boundOf(perAccount: NonNullable<FairSlotsOptions['perAccount']>): (free: number) => number {
  return typeof perAccount === 'function' ? perAccount : () => perAccount
}

/** The usual `perAccount`: 80 % of the slots, rounded up, so that a fifth is left for others. */
export function fourFifths(slots: number): number {
  return Math.ceil(slots * 0.8)
}

/** Separate slots for each key, such as an endpoint's host. */
export interface KeyedSlots {
  /** As in `FairSlots`. */
  acquire(key: string, request?: SlotRequest): Promise<Release | undefined>
}

export interface FairSlotsByKeyOptions extends Omit<FairSlotsOptions, 'slots'> {
  slotsPerKey: number
}

/** Creates the slots of a key at its first use, and forgets them when all of them are free. */
export function createFairSlotsByKey({ slotsPerKey, ...options }: FairSlotsByKeyOptions): KeyedSlots {
  const slotsByKey = new Map<string, FairSlots>()

  return {
    async acquire(key, request = {}) {
      if (request.signal?.aborted) return undefined
      const slots = slotsByKey.get(key) ?? createFairSlots({ slots: slotsPerKey, ...options })
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
