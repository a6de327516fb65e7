import type { Logger } from 'pino'
import type { FairTurns } from '../../../net/fair-turns.ts'
import type { OperatorLimits } from '../../config/limits.ts'
import type { DatabaseClock } from '../../db/clock.ts'
import type { Database } from '../../db/connect.ts'
import type { Sealer } from '../../db/encryption.ts'
import { createAuthenticate } from './authenticate.ts'
import { createSessionCookie, type SessionCookie } from './cookie.ts'
import { createCredentialAttempts } from './credential-attempts.ts'
import { createFailedSignIns } from './failed-sign-ins.ts'
import { createLinkTokens } from './mail-links.ts'
import { Issuer, type OidcConfig } from './oidc/issuer.ts'
import { createOidc } from './oidc/oidc.ts'
import { createRequestCookie, type RequestCookie } from './oidc/request-cookie.ts'
import { createSessionGate } from './session-gate.ts'
import { findSession } from './sessions.ts'
import { signingKeys } from './signing-keys.ts'

interface PeopleParts {
  db: Database
  clock: DatabaseClock
  sealer: Sealer
  log: Logger
  /** The limits of tiers. */
  limits: OperatorLimits
  turns?: FairTurns
  /** Called with each call that was counted against its account's limit. */
  onCount?(admitted: boolean): void
  /** Where callers reach this server; called once it listens. */
  publicUrl(): string
  /** undefined without sign-in by OpenID Connect. */
  oidc?: OidcConfig
}

/** Who may use the dashboard: how people sign in, and the gate before calls with a session. */
export function createPeople(parts: PeopleParts) {
  const { db, clock, sealer, log, publicUrl } = parts
  const attempts = createCredentialAttempts()
  const noteFailedSignIn = createFailedSignIns(parts)
  const secure = () => publicUrl().startsWith('https:')
  let created: SessionCookie | undefined
  const cookie = () => {
    created ??= createSessionCookie({ keys: signingKeys(sealer), secure: secure() })
    return created
  }
  let requestCookie: RequestCookie | undefined
  const issuer =
    parts.oidc && new Issuer(parts.oidc, (fault) => log.warn(fault, 'a sign-in by OpenID Connect has failed'))
  const invitationLinks = createLinkTokens(sealer, 'invitation')
  const oidc = createOidc({
    ...parts,
    invitationLinks,
    issuer,
    cookie,
    requestCookie() {
      requestCookie ??= createRequestCookie({ sealer, secure: secure() })
      return requestCookie
    },
  })
  return {
    attempts,
    noteFailedSignIn,
    invitationLinks,
    gate: createSessionGate({ ...parts, cookie }),
    /** The person whose session a Cookie header holds. */
    async signedInAs(header: string | undefined): Promise<string | undefined> {
      const token = cookie().read(header)
      return token === undefined ? undefined : (await findSession(db, clock, token, undefined))?.personId
    },
    hasSession: (header: string) => cookie().isIn(header),
    /** The issuer of OpenID Connect; undefined without one. */
    issuer: issuer && { url: issuer.issuer, host: issuer.host },
    authenticate: createAuthenticate({ ...parts, attempts, noteFailedSignIn, cookie, oidc }),
  }
}
