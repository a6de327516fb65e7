import { asManyAsLeft, FairSlots, type Release } from './fair-slots.ts'

/** The most pieces of work that begin in a round of the event loop. */
const TURNS = 32
/** After a round that was longer, the next one begins half as many. */
const LONG_ROUND_MS = 10
/** The most pieces of work at hand: half as many queries of an account may be in front of one of another account. */
const PIECES = 256
/** The line of all callers without an account. No account has this id. */
const STRANGERS = ''
/** The most strangers in that line. The next one is of the network whose turn it is. */
const STRANGERS_IN_LINE = 16
/** A piece of work that takes longer waits for others: it does not count from then on. */
const LONGEST_MS = 1_000

interface Piece {
  beganAtMs: number
  end: Release
}

/**
 * Shares the time of this process, and what its work shares behind it, such as connections of the database, between
 * accounts. An account takes at most as much as it leaves free, and its other work waits in its own line.
 */
export class FairTurns {
  readonly #turns = new FairSlots({ slots: TURNS, perAccount: asManyAsLeft })
  readonly #strangers = new FairSlots({ slots: STRANGERS_IN_LINE, perAccount: asManyAsLeft })
  #round: Release[] = []
  #roundBeganAtMs = 0
  readonly #pieces = new FairSlots({ slots: PIECES, perAccount: asManyAsLeft })
  /** In the order in which they began. */
  readonly #atHand = new Set<Piece>()
  #timer: NodeJS.Timeout | undefined

  /**
   * Waits for a turn to compute, if there is none at once. Few pieces of work begin in each round of the event loop. A
   * loop with little to do has thousands of rounds a second, and nothing waits. While one account brings more than the
   * processor can do, each step of another one's call waits for a short round.
   */
  take(accountId: string): Promise<void> | undefined {
    const endTurn = this.#turns.tryAcquire(accountId)
    if (!endTurn) return this.#turns.acquire({ accountId }).then((endTurn) => this.#beginTurn(endTurn!))
    this.#beginTurn(endTurn)
    return undefined
  }

  /** The same for a caller without an account. All of them share the turns of one account, and their networks these. */
  async takeAsStranger(network: string): Promise<void> {
    const leave = await this.#strangers.acquire({ accountId: network })
    await this.take(STRANGERS)
    leave!()
  }

  /**
   * Waits for a turn to work on a call. Returns the function that ends the work: to be called when it has ended, or
   * when it begins to wait for others, such as a mail server. Throws the reason of the caller's signal when the caller
   * leaves while the work waits.
   */
  async beginWork(accountId: string, caller?: { signal: AbortSignal }): Promise<Release> {
    const leave = this.#pieces.tryAcquire(accountId) ?? (await this.#waitForPlace(accountId, caller?.signal))
    const piece: Piece = {
      beganAtMs: performance.now(),
      end: () => {
        if (this.#atHand.delete(piece)) leave()
      },
    }
    this.#atHand.add(piece)
    await this.take(accountId)
    return piece.end
  }

  #beginTurn(endTurn: Release): void {
    if (this.#round.push(endTurn) > 1) return
    this.#roundBeganAtMs = performance.now()
    setImmediate(this.#endRound)
  }

  /** The size of the next round follows the work of this one, whatever a piece of it costs. */
  readonly #endRound = () => {
    const isLong = performance.now() - this.#roundBeganAtMs > LONG_ROUND_MS
    const turns = this.#turns.size()
    const next = Math.min(TURNS, Math.max(1, isLong ? turns >> 1 : turns * 2))
    if (next !== turns) this.#turns.resize(next, asManyAsLeft)
    const ended = this.#round
    this.#round = []
    for (const endTurn of ended) endTurn()
  }

  async #waitForPlace(accountId: string, signal: AbortSignal | undefined): Promise<Release> {
    this.#endOldPieces()
    const leave = await this.#pieces.acquire({ accountId, signal })
    if (!leave) throw signal?.reason
    return leave
  }

  /** Comes again while some wait. */
  readonly #endOldPieces = () => {
    const oldMs = performance.now() - LONGEST_MS
    for (const piece of this.#atHand) {
      if (piece.beganAtMs > oldMs) break
      piece.end()
    }
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#pieces.load().waiting > 0 && this.#endOldPieces(), LONGEST_MS / 10).unref()
  }
}
