/** An attempt that dispatches of a group wait for together. */
export interface Round {
  /** Shown ids, `dsp_...`. */
  dispatchIds: string[]
  /** 1 is the first. */
  attempt: number
  /** Unix milliseconds. */
  dueMs: number
  /** A person asked for it: it may begin before it is due. */
  early?: boolean
  /** How long they waited since they last found no place at the endpoint. */
  backOffMs?: number
}

export function earliest(rounds: readonly Round[]): Round | undefined {
  return rounds.toSorted((a, b) => a.dueMs - b.dueMs)[0]
}

export function idsOf(rounds: readonly Round[]): string[] {
  return rounds.flatMap(({ dispatchIds }) => dispatchIds)
}

/** The rounds as far as they hold dispatches that are `chosen`; a round that holds none is left out. */
export function only(rounds: readonly Round[], chosen: (dispatchId: string) => boolean): Round[] {
  return rounds
    .map((round) => ({ ...round, dispatchIds: round.dispatchIds.filter(chosen) }))
    .filter(({ dispatchIds }) => dispatchIds.length > 0)
}
