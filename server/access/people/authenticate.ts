import type { ConnectError } from '@connectrpc/connect'
import type { Logger } from 'pino'
import type { DatabaseClock } from '../../db/clock.ts'
import type { Database } from '../../db/connect.ts'
import type { Sealer } from '../../db/encryption.ts'
import { type ErrorReason, failFields, reasonOf } from '../../errors.ts'
import { loadBetterAuth, type Served, served } from './better-auth.ts'
import type { SessionCookie } from './cookie.ts'
import type { CredentialAttempts } from './credential-attempts.ts'
import type { NoteFailedSignIn } from './failed-sign-ins.ts'
import { signInError } from './sign-in-errors.ts'
import { checkSignInFields, SIGN_IN_PATHS } from './sign-in-fields.ts'
import { ADDRESS_HEADER } from './sign-in-hooks.ts'
import { versionedKeys } from './signing-keys.ts'

export interface AuthRequest {
  /** One of `SIGN_IN_PATHS`. */
  path: string
  /** The headers that better-auth reads. */
  headers: Record<'cookie' | 'origin' | 'referer' | 'user-agent', string | undefined>
  /** Whether the Origin header is that of this server, as the request names it. The host was checked before. */
  sameOrigin: boolean
  body: Record<string, unknown>
  remoteAddress: string
}

/** The body in JSON, or the error. Both may set cookies. */
export type AuthResponse = { cookies: string[]; json: string } | { cookies: string[]; error: ConnectError }

/** Octets of an email address (RFC 5321 4.5.3.1.3, without the angle brackets). */
const MAX_EMAIL = 254

/** The errors that say that a password or a code was compared and is wrong. No other error counts as an attempt. */
const WRONG_GUESSES: readonly (ErrorReason | undefined)[] = ['wrong_credentials', 'wrong_password', 'wrong_code']

interface AuthenticateParts {
  db: Database
  clock: DatabaseClock
  log: Logger
  sealer: Sealer
  attempts: CredentialAttempts
  noteFailedSignIn: NoteFailedSignIn
  cookie(): SessionCookie
  publicUrl(): string
  /** Responds to the paths of OpenID Connect. Throws errors made by `fail`. */
  oidc(request: AuthRequest): Promise<AuthResponse>
}

/** Responds to requests below /api/auth. Throws `invalid_address`, `rate_limit_exceeded` and faults of the service. */
export function createAuthenticate(parts: AuthenticateParts) {
  const { attempts, cookie, publicUrl, oidc } = parts
  let loaded: ReturnType<typeof loadBetterAuth> | undefined

  function betterAuth() {
    const { origin } = new URL(publicUrl())
    loaded ??= loadBetterAuth({ ...parts, secrets: versionedKeys(parts.sealer), origin })
    loaded.catch(() => {
      loaded = undefined
    })
    return loaded
  }

  async function ask({ path, headers, sameOrigin, body, remoteAddress }: AuthRequest): Promise<AuthResponse> {
    const url = new URL(`/api/auth${path}`, publicUrl())
    const request = new Request(url, { method: 'POST', body: JSON.stringify(body) })
    request.headers.set('content-type', 'application/json')
    request.headers.set(ADDRESS_HEADER, remoteAddress)
    const own = { ...headers, cookie: cookie().forSignIn(headers.cookie) }
    for (const [name, value] of Object.entries(own)) if (value !== undefined) request.headers.set(name, value)
    const current: Served = { remoteAddress, ownOrigin: sameOrigin ? headers.origin : undefined }
    const response = await served.run(current, async () => (await betterAuth()).handler(request))
    const cookies = response.headers.getSetCookie()
    const text = await response.text()
    if (response.ok) return { cookies, json: text }
    if (current.fault) throw current.fault
    return { cookies, error: signInError(response.status, text) }
  }

  async function respond(request: AuthRequest): Promise<AuthResponse> {
    const { path, headers, body, remoteAddress } = request
    const email = readEmail(body)
    checkSignInFields(path, body)
    if (path === '/sign-out') return ask(request)
    const session = cookie().read(headers.cookie)
    if (path.startsWith('/oidc/')) return attempts.run({ remoteAddress, session }, () => oidc(request), isWrongGuess)
    return attempts.run({ remoteAddress, email, session }, () => ask(request), isWrongGuess)
  }

  return { paths: SIGN_IN_PATHS, respond }
}

function isWrongGuess(response: AuthResponse): boolean {
  return 'error' in response && WRONG_GUESSES.includes(reasonOf(response.error))
}

/** The field `email`; undefined when it is absent or not a text. Throws `invalid_address` for one that is too long. */
function readEmail({ email }: Record<string, unknown>): string | undefined {
  if (typeof email !== 'string') return undefined
  if (Buffer.byteLength(email) <= MAX_EMAIL) return email
  throw failFields('invalid_address', [{ field: 'email', message: `must have at most ${MAX_EMAIL} octets` }])
}
