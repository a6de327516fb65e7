import { networksOf } from '../../../net/network.ts'
import { usedUp } from '../limiter.ts'
import { createWindows, type Visit } from '../windows.ts'

const WINDOW_MS = 15 * 60_000
const FROM_ADDRESS = { limit: 100, windowMs: WINDOW_MS }
/** For a /48, because one subscriber may have all of its /64. */
const FROM_WIDEST_NETWORK = { limit: 1_000, windowMs: WINDOW_MS }
const FROM_ADDRESS_FOR_EMAIL = { limit: 10, windowMs: WINDOW_MS }
const IN_SESSION = { limit: 10, windowMs: WINDOW_MS }

export interface CredentialAttempt {
  remoteAddress: string
  /** The address that the caller wants to sign in with. */
  email?: string
  /** The token of the session in which the password or a code is entered. */
  session?: string
}

export interface CredentialAttempts {
  /**
   * Runs a check of a password or a code, and counts the attempt when it was wrong. Throws `rate_limit_exceeded`,
   * without running the check, over a limit.
   */
  run<Result>(
    attempt: CredentialAttempt,
    check: () => Promise<Result>,
    isWrong: (result: Awaited<Result>) => boolean,
  ): Promise<Result>
}

/**
 * Limits attempts by the caller's address, by that and the email address, and by session. None is by email address
 * alone, with which a stranger could lock a person out. Each process counts for itself.
 */
export function createCredentialAttempts(): CredentialAttempts {
  const fromAddress = createWindows(FROM_ADDRESS)
  const fromWidestNetwork = createWindows(FROM_WIDEST_NETWORK)
  const fromAddressForEmail = createWindows(FROM_ADDRESS_FOR_EMAIL)
  const inSession = createWindows(IN_SESSION)
  return {
    run({ remoteAddress, email, session }, check, isWrong) {
      const networks = networksOf(remoteAddress)
      const network = networks.at(-1)!
      const visits = [() => fromAddress(network), () => fromWidestNetwork(networks[0])]
      if (email !== undefined) visits.push(() => fromAddressForEmail(`${network} ${email.toLowerCase()}`))
      if (session !== undefined) visits.push(() => inSession(session))
      return countWrong(visits, check, isWrong)
    },
  }
}

/**
 * Runs a check that counts only when it was wrong: not when it succeeded, and not when it failed before a secret was
 * compared. It counts while it runs, so that checks at the same moment stay within the limit. Throws
 * `rate_limit_exceeded`, and leaves all counts as they were, when one of the visits is over its limit.
 */
export async function countWrong<Result>(
  visits: (() => Visit)[],
  check: () => Promise<Result>,
  isWrong: (result: Awaited<Result>) => boolean,
): Promise<Result> {
  const counted: Visit[] = []
  const forget = () => counted.forEach((visit) => void visit.forget())
  try {
    for (const visit of visits) {
      const begun = visit()
      counted.push(begun)
      if (begun.over) throw usedUp('Too many attempts that failed.', Math.ceil(begun.leftMs / 1_000))
    }
    const result = await check()
    if (!isWrong(result)) forget()
    return result
  } catch (error) {
    forget()
    throw error
  }
}
