import { AsyncLocalStorage } from 'node:async_hooks'

/** Whom work is for. */
interface Behalf {
  /** An account, or the network of a caller without one. */
  caller: string
  /** Whether the work grows with what the caller has stored. */
  isHeavy: boolean
}

const behalves = new AsyncLocalStorage<Behalf | undefined>()

/**
 * Runs work for a caller. What it does then counts as the caller's wherever callers share something, and so does what
 * it begins, such as a timer, until `forAll` says otherwise.
 */
export const onBehalfOf = <Result>(caller: string, work: () => Result): Result =>
  behalves.run({ caller, isHeavy: false }, work)

/** Runs work that takes long for its caller. */
export const asHeavy = <Result>(work: () => Result): Result => {
  const behalf = behalves.getStore()
  return behalves.run(behalf && { ...behalf, isHeavy: true }, work)
}

/**
 * Runs work of the service itself. What is shared between callers begins by this, although one of them needs it first:
 * its share would otherwise delay all others.
 */
export const forAll = <Result>(work: () => Result): Result => behalves.run(undefined, work)

/** Whom the work is for that runs now; undefined for work of the service. */
export const behalfNow = (): Behalf | undefined => behalves.getStore()
