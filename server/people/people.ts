import type { DatabaseClock } from '../db/clock.ts'
import type { Database } from '../db/connect.ts'
import type { Sealer } from '../db/encryption.ts'
import { type SessionCookie, sessionCookie } from './cookie.ts'
import { createSessionGate } from './gate.ts'

interface Parts {
  db: Database
  clock: DatabaseClock
  sealer: Sealer
  /** Where callers reach this server; called once it listens. */
  publicUrl(): string
}

/** Who may use the dashboard: the cookie of a session, and the gate before calls with one. */
export function createPeople({ db, clock, sealer, publicUrl }: Parts) {
  let created: SessionCookie | undefined
  const cookie = () => {
    created ??= sessionCookie({ keys: signingKeys(sealer), secure: publicUrl().startsWith('https:') })
    return created
  }
  return { gate: createSessionGate({ db, clock, cookie }), hasSession: (header: string) => cookie().isIn(header) }
}

/** The keys of cookies: the first signs, all verify. better-auth takes its secret as a text. */
export function signingKeys(sealer: Sealer): string[] {
  return sealer.deriveKeys('people').map((key) => key.toString('base64url'))
}
