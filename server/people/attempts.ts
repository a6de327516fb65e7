import { usedUp } from '../access/limiter.ts'
import { createWindows } from '../access/windows.ts'
import { networkOf } from '../egress/network.ts'

const WINDOW_MS = 15 * 60_000
const FROM_ADDRESS = { limit: 100, windowMs: WINDOW_MS }
const FROM_ADDRESS_FOR_EMAIL = { limit: 10, windowMs: WINDOW_MS }
const IN_SESSION = { limit: 10, windowMs: WINDOW_MS }

export interface Attempt {
  remoteAddress: string
  /** The address that the caller wants to sign in with. */
  email?: string
  /** The token of the session in which the password or a code is entered. */
  session?: string
}

export interface Attempts {
  /**
   * Counts an attempt to guess a password or a code. Returns the function that takes it out of the count after a
   * success. Throws `rate_limit_exceeded` over a limit.
   */
  begin(attempt: Attempt): () => void
}

/**
 * Limits attempts by the caller's address, by that and the email address, and by session. None is by email address
 * alone, with which a stranger could lock a person out. Each process counts for itself.
 */
export function createAttempts(): Attempts {
  const fromAddress = createWindows(FROM_ADDRESS)
  const fromAddressForEmail = createWindows(FROM_ADDRESS_FOR_EMAIL)
  const inSession = createWindows(IN_SESSION)
  return {
    begin({ remoteAddress, email, session }) {
      const network = networkOf(remoteAddress)
      const visits = [fromAddress(network)]
      if (email !== undefined) visits.push(fromAddressForEmail(`${network} ${email.toLowerCase()}`))
      if (session !== undefined) visits.push(inSession(session))
      const over = visits.find((visit) => visit.over)
      if (over) throw usedUp('Too many attempts that failed.', Math.ceil(over.leftMs / 1_000))
      return () => {
        for (const { forget } of visits) forget()
      }
    },
  }
}
