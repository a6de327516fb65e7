import type { Logger } from 'pino'
import type { DatabaseClock } from '../db/clock.ts'
import type { Database } from '../db/connect.ts'
import type { Sealer } from '../db/encryption.ts'
import type { Attempts } from './attempts.ts'
import { ADDRESS_HEADER, loadBetterAuth } from './better-auth.ts'
import type { SessionCookie } from './cookie.ts'
import { versionedKeys } from './signing-keys.ts'

/** The paths of better-auth that are served, below /api/auth. All take POST. */
const PATHS = [
  '/sign-in/email',
  '/sign-out',
  '/change-password',
  '/two-factor/enable',
  '/two-factor/disable',
  '/two-factor/generate-backup-codes',
  '/two-factor/verify-totp',
  '/two-factor/verify-backup-code',
]

export interface AuthRequest {
  /** One of the paths above. */
  path: string
  /** The headers that better-auth reads. */
  headers: Record<'cookie' | 'origin' | 'referer' | 'user-agent', string | undefined>
  /** JSON. */
  body: string
  remoteAddress: string
}

interface Parts {
  db: Database
  clock: DatabaseClock
  log: Logger
  sealer: Sealer
  attempts: Attempts
  cookie(): SessionCookie
  publicUrl(): string
  /** Where this server listens; called once it does. */
  listenerUrl(): string
}

/** Responds to requests below /api/auth as better-auth does. Throws `rate_limit_exceeded` after too many attempts. */
export function createAuthenticate(parts: Parts) {
  const { attempts, cookie, publicUrl } = parts
  let loaded: ReturnType<typeof loadBetterAuth> | undefined

  function betterAuth() {
    const origin = new URL(publicUrl()).origin
    const trustedOrigins = [origin, ...originsOf(parts.listenerUrl())]
    loaded ??= loadBetterAuth({ ...parts, secrets: versionedKeys(parts.sealer), origin, trustedOrigins })
    loaded.catch(() => {
      loaded = undefined
    })
    return loaded
  }

  async function respond({ path, headers, body, remoteAddress }: AuthRequest): Promise<Response> {
    const session = cookie().read(headers.cookie)
    const isGuess = path !== '/sign-out'
    const succeeded = isGuess ? attempts.begin({ remoteAddress, email: emailIn(body), session }) : () => {}
    const request = new Request(new URL(`/api/auth${path}`, publicUrl()), { method: 'POST', body: body || '{}' })
    request.headers.set('content-type', 'application/json')
    request.headers.set(ADDRESS_HEADER, remoteAddress)
    const own = { ...headers, cookie: cookie().resigned(headers.cookie) }
    for (const [name, value] of Object.entries(own)) if (value !== undefined) request.headers.set(name, value)
    const response = await (await betterAuth()).handler(request)
    if (response.ok) succeeded()
    return response
  }

  return { paths: PATHS, respond }
}

/** A browser on this machine may use either name of it. */
function originsOf(listenerUrl: string): string[] {
  const { origin } = new URL(listenerUrl)
  return [origin, origin.replace(/\/\/(127\.0\.0\.1|\[::1\])/, '//localhost')]
}

function emailIn(body: string): string | undefined {
  try {
    const { email } = JSON.parse(body)
    return typeof email === 'string' ? email : undefined
  } catch {
    return undefined
  }
}
