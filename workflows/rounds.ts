/** The dispatches of a group that wait for the same attempt. */
export interface Round {
  /** Public ids, `dsp_...`. */
  dispatchIds: string[]
  /** 1 is the first. */
  attempt: number
  /** Unix milliseconds. */
  dueMs: number
  /** Whether the attempt may begin before it is due, because an operator asked for it. */
  early?: boolean
  /** How long the dispatches wait after they last got no slot at the endpoint. */
  backOffMs?: number
}

export function earliest(rounds: readonly Round[]): Round | undefined {
  return rounds.toSorted((a, b) => a.dueMs - b.dueMs)[0]
}

export function idsOf(rounds: readonly Round[]): string[] {
  return rounds.flatMap(({ dispatchIds }) => dispatchIds)
}

/** Reduces the rounds to the dispatches that are chosen. A round without any is left out. */
export function only(rounds: readonly Round[], isChosen: (dispatchId: string) => boolean): Round[] {
  return rounds
    .map((round) => ({ ...round, dispatchIds: round.dispatchIds.filter(isChosen) }))
    .filter(({ dispatchIds }) => dispatchIds.length > 0)
}
