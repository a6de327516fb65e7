import { AsyncLocalStorage } from 'node:async_hooks'

const callers = new AsyncLocalStorage<string | undefined>()

/**
 * Runs work for a caller: an account, or the network of a caller without one. What it does then counts as the caller's
 * wherever callers share something. The service itself is undefined.
 */
export const onBehalfOf = <Result>(caller: string | undefined, work: () => Result): Result => callers.run(caller, work)

/** Whom the work is for that runs now. */
export const callerNow = (): string | undefined => callers.getStore()
