import { AsyncLocalStorage } from 'node:async_hooks'
import { registerHooks } from 'node:module'
import type { Logger } from 'pino'
import type { DatabaseClock } from '../../db/clock.ts'
import type { Database } from '../../db/connect.ts'
import { newId } from '../../db/ids.ts'
import { credentials, people, secondFactors, sessions, verifications } from '../../db/people-schema.ts'
import { COOKIE_PREFIX, SESSION_DAYS } from './cookie.ts'
import type { NoteFailedSignIn } from './failed-sign-ins.ts'
import { hashPassword, isPassword, PASSWORD } from './password.ts'
import { ADDRESS_HEADER, createSignInHooks } from './sign-in-hooks.ts'

/** A request while better-auth responds to it. */
export interface Served {
  remoteAddress: string
  /** The origin of the page, when it is the one that the request names as ours. */
  ownOrigin: string | undefined
  /** A fault of the service that better-auth notes, and then takes for something else, such as a missing session. */
  fault?: Error
}

/** How better-auth's callbacks find the request that they are called for. */
export const served = new AsyncLocalStorage<Served>()

const DAY_SECONDS = 86_400

export interface BetterAuthParts {
  db: Database
  clock: DatabaseClock
  log: Logger
  /** The first encrypts and signs, all decrypt. A key always has the same version. */
  secrets: { version: number; value: string }[]
  /** Where callers reach this server, without a path. */
  origin: string
  noteFailedSignIn: NoteFailedSignIn
}

/**
 * Loads and configures better-auth. It takes 0.4 s of processor time and 36 MB, so a process that signs in no person
 * does not load it.
 */
export async function loadBetterAuth(parts: BetterAuthParts) {
  const { db, clock, log, secrets, origin } = parts
  const { betterAuth, drizzleAdapter, twoFactor, api, symmetricDecrypt } = await load()
  const schema = {
    user: people,
    session: sessions,
    account: credentials,
    verification: verifications,
    twoFactor: secondFactors,
  }
  return betterAuth({
    appName: 'Verdict',
    baseURL: origin,
    basePath: '/api/auth',
    secrets,
    // Beside the origin above.
    trustedOrigins: () => [served.getStore()?.ownOrigin],
    database: drizzleAdapter(db, { provider: 'pg', schema, transaction: true }),
    emailAndPassword: {
      enabled: true,
      // Invitations create people.
      disableSignUp: true,
      minPasswordLength: PASSWORD.min,
      maxPasswordLength: PASSWORD.max,
      password: {
        hash: (password) => hashPassword(password, served.getStore()?.remoteAddress),
        verify: ({ password, hash }) => isPassword(password, hash, served.getStore()?.remoteAddress),
      },
    },
    session: { expiresIn: SESSION_DAYS * DAY_SECONDS, updateAge: DAY_SECONDS },
    ...createSignInHooks({ ...parts, api, symmetricDecrypt }),
    // `code-guesses.ts` counts wrong codes.
    plugins: [twoFactor({ issuer: 'Verdict', accountLockout: { enabled: false } })],
    // `credential-attempts.ts` limits attempts.
    rateLimit: { enabled: false },
    telemetry: { enabled: false },
    advanced: {
      cookiePrefix: COOKIE_PREFIX,
      useSecureCookies: origin.startsWith('https:'),
      // Explicit, because better-auth does not check the origin where NODE_ENV is `test`.
      disableOriginCheck: false,
      disableCSRFCheck: false,
      ipAddress: { ipAddressHeaders: [ADDRESS_HEADER] },
      database: { generateId: () => newId(clock.now()) },
    },
    // Throws what is no error of better-auth's own. It would print it and send an empty response.
    onAPIError: { throw: true },
    // Without its own level, because better-auth prints errors of requests when it has one.
    logger: { log: (level, message, error) => level === 'error' && note(log, message, error) },
  })
}

/** A message without an error is about a request, such as an origin that is not trusted. */
function note(log: Logger, message: string, error: unknown): void {
  const request = served.getStore()
  if (!(error instanceof Error)) log.warn(`better-auth: ${message}`)
  else if (request) request.fault ??= error
  else log.error({ err: error }, `better-auth: ${message}`)
}

/**
 * Its adapter imports Drizzle's ES modules, which cost 0.6 s and 100 MB. The hook gives it the CommonJS files that the
 * process has already loaded (docs/adr/0095-memory-after-the-start.md).
 */
async function load() {
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      const isAdapter = context.parentURL?.includes('/@better-auth/drizzle-adapter/')
      const conditions = isAdapter && /^drizzle-orm\b/.test(specifier) ? ['node', 'require'] : context.conditions
      return next(specifier, { ...context, conditions })
    },
  })
  try {
    const [{ betterAuth }, { drizzleAdapter }, { twoFactor }, api, { symmetricDecrypt }] = await Promise.all([
      import('better-auth/minimal'),
      import('better-auth/adapters/drizzle'),
      import('better-auth/plugins/two-factor'),
      import('better-auth/api'),
      import('better-auth/crypto'),
    ])
    return { betterAuth, drizzleAdapter, twoFactor, api, symmetricDecrypt }
  } finally {
    hooks.deregister()
  }
}
