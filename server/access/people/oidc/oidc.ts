import { randomBytes } from 'node:crypto'
import type { DatabaseClock } from '../../../db/clock.ts'
import type { Database } from '../../../db/connect.ts'
import { newId } from '../../../db/ids.ts'
import { sessions, verifications } from '../../../db/people-schema.ts'
import { fail, failFields } from '../../../errors.ts'
import { recordForPerson } from '../../audit/record-for-person.ts'
import type { AuthRequest, AuthResponse } from '../authenticate.ts'
import { SESSION_DAYS, type SessionCookie } from '../cookie.ts'
import type { LinkTokens } from '../mail-links.ts'
import {
  confirmationRequired,
  confirmSession,
  findSession,
  type LiveSession,
  lockSession,
  noSession,
} from '../sessions.ts'
import { acceptInvitations } from './accept-invitations.ts'
import { findPersonOf, linkIdentity, type PersonOfIdentity } from './identities.ts'
import type { Identity, Issuer } from './issuer.ts'
import { type BegunRequest, PURPOSES, type Purpose, type RequestCookie } from './request-cookie.ts'

interface OidcParts {
  db: Database
  clock: DatabaseClock
  /** The links of invitations that were mailed. */
  invitationLinks: LinkTokens
  /** undefined when OIDC_ISSUER is not set. */
  issuer: Issuer | undefined
  cookie(): SessionCookie
  requestCookie(): RequestCookie
  publicUrl(): string
}

const DAY_MS = 86_400_000
/** As long as better-auth waits for a code after a password. */
const SECOND_STEP_MS = 600_000
/** Characters of the texts that a page sends: the response of the issuer, and the page to go back to. */
const LONGEST = { response: 8_192, back: 1_024, invitation: 100 }

/**
 * Signing in by OpenID Connect. A page starts, sends the browser to the issuer, and gets it back at /dashboard/oidc,
 * which ends what was started. Throws errors made by `fail`.
 */
export function createOidc(parts: OidcParts) {
  return async (call: AuthRequest): Promise<AuthResponse> => {
    const { issuer } = parts
    if (!issuer) throw fail('not_found', 'This installation has no sign-in by OpenID Connect: OIDC_ISSUER is not set.')
    refuseOtherOrigins(call.headers.origin, parts.publicUrl())
    return call.path === '/oidc/start' ? beginRequest(parts, call, issuer) : endRequest(parts, call, issuer)
  }
}

const redirectUri = ({ publicUrl }: OidcParts) => `${publicUrl()}/dashboard/oidc`

async function beginRequest(parts: OidcParts, { headers, body }: AuthRequest, issuer: Issuer): Promise<AuthResponse> {
  const purpose = readPurpose(body)
  const session = purpose === 'sign-in' ? undefined : await sessionOf(parts, headers.cookie)
  if (purpose === 'link' && (session?.confirmedUntilMs ?? 0) <= parts.clock.now()) throw confirmationRequired()
  const request: BegunRequest = {
    purpose,
    state: randomText(),
    nonce: randomText(),
    verifier: randomText(),
    startedAtMs: Date.now(),
    anew: purpose === 'confirm',
    sessionId: session?.sessionId,
    invitation: readText(body, 'invitation'),
    back: readText(body, 'back'),
  }
  const url = await issuer.authorizationUrl(request, redirectUri(parts))
  return { cookies: [parts.requestCookie().write(request)], json: JSON.stringify({ url }) }
}

async function endRequest(parts: OidcParts, call: AuthRequest, issuer: Issuer): Promise<AuthResponse> {
  const request = parts.requestCookie().read(call.headers.cookie)
  if (!request) throw fail('wrong_credentials', 'No sign-in waits in this browser, or it took too long. Start again.')
  const response = readText(call.body, 'response') ?? ''
  const identity = await issuer.identify(request, redirectUri(parts), response)
  const cookies = [parts.requestCookie().clear()]
  const { purpose, back } = request
  if (purpose === 'sign-in') {
    const entered = await signIn(parts, call, issuer, identity, request)
    return { cookies: [...cookies, entered.cookie], json: JSON.stringify({ ...entered.json, back }) }
  }
  await (purpose === 'link' ? link : confirm)(parts, call, identity, request)
  return { cookies, json: JSON.stringify({ back }) }
}

async function signIn(
  parts: OidcParts,
  call: AuthRequest,
  { host }: Issuer,
  identity: Identity,
  { invitation }: BegunRequest,
) {
  const { remoteAddress } = call
  let person = await findPersonOf(parts.db, identity)
  if (!person || invitation !== undefined) {
    person = await acceptInvitations(parts, { identity, host, person, token: invitation, remoteAddress })
  }
  if (person.twoFactorEnabled) return askForCode(parts, person)
  return startSession(parts, call, identity, person)
}

async function startSession(
  { db, clock, cookie }: OidcParts,
  { headers, remoteAddress }: AuthRequest,
  { issuer }: Identity,
  person: PersonOfIdentity,
) {
  const { personId, email } = person
  const now = clock.now()
  const token = randomBytes(24).toString('base64url')
  await db.transaction(async (tx) => {
    await tx.insert(sessions).values({
      id: newId(now),
      token,
      userId: personId,
      expiresAt: new Date(now + SESSION_DAYS * DAY_MS),
      ipAddress: remoteAddress,
      userAgent: headers['user-agent'] ?? '',
      // The issuer may have remembered the browser: the person has not entered a credential.
      confirmedAt: null,
    })
    await recordForPerson(tx, { personId, email, remoteAddress, action: 'person.oidc_sign_in', after: { issuer } })
  })
  return { cookie: cookie().renewal(token), json: {} }
}

/** Goes on as better-auth does after the password of a person with a second factor. */
async function askForCode({ db, clock, cookie }: OidcParts, { personId }: PersonOfIdentity) {
  const identifier = `2fa-${randomBytes(24).toString('base64url')}`
  const [now, expiresAt] = [clock.now(), new Date(Date.now() + SECOND_STEP_MS)]
  await db.insert(verifications).values([
    { id: newId(now), identifier, value: personId, expiresAt },
    { id: newId(now), identifier: `2fa-attempts-${identifier}`, value: '0', expiresAt },
  ])
  return { cookie: cookie().halfway(identifier, SECOND_STEP_MS / 1_000), json: { twoFactorRedirect: true } }
}

async function link(
  parts: OidcParts,
  { headers, remoteAddress }: AuthRequest,
  identity: Identity,
  request: BegunRequest,
) {
  const session = await sameSession(parts, headers.cookie, request)
  await parts.db.transaction(async (tx) => {
    await lockSession(tx, session, undefined)
    await sessionOf(parts, headers.cookie)
    await linkIdentity(tx, parts.clock, identity, { ...session, remoteAddress })
  })
}

async function confirm(parts: OidcParts, { headers }: AuthRequest, identity: Identity, request: BegunRequest) {
  const { personId, sessionId } = await sameSession(parts, headers.cookie, request)
  if ((await findPersonOf(parts.db, identity))?.personId !== personId) {
    throw fail('wrong_credentials', 'That is the identity of another person than the one who is signed in.')
  }
  await confirmSession(parts.db, parts.clock, sessionId)
}

async function sessionOf({ db, clock, cookie }: OidcParts, header: string | undefined): Promise<LiveSession> {
  const token = cookie().read(header)
  const session = token === undefined ? undefined : await findSession(db, clock, token, undefined)
  if (!session) throw noSession()
  return session
}

async function sameSession(
  parts: OidcParts,
  header: string | undefined,
  { sessionId }: BegunRequest,
): Promise<LiveSession> {
  const session = await sessionOf(parts, header)
  if (session.sessionId !== sessionId) throw fail('wrong_credentials', 'Another person has signed in. Start again.')
  return session
}

/** The issuer returns the browser to PUBLIC_URL alone, and its cookies belong to that host. */
function refuseOtherOrigins(origin: string | undefined, publicUrl: string): void {
  const own = new URL(publicUrl).origin
  if (origin === undefined || origin === own) return
  throw fail('wrong_origin', `Sign-in by OpenID Connect works at ${own} only. Open the dashboard there.`)
}

function readPurpose({ purpose }: Record<string, unknown>): Purpose {
  const known = PURPOSES.find((one) => one === purpose)
  if (known === undefined) {
    throw failFields('invalid_payload', [{ field: 'purpose', message: `must be one of ${PURPOSES.join(', ')}` }])
  }
  return known
}

function readText(body: Record<string, unknown>, field: keyof typeof LONGEST): string | undefined {
  const text = body[field] as string | undefined
  if (text === undefined || text.length <= LONGEST[field]) return text || undefined
  throw failFields('invalid_payload', [{ field, message: `must have at most ${LONGEST[field]} characters` }])
}

/** 256 bits, in an alphabet that state, nonce and a PKCE verifier (RFC 7636 4.1) may have. */
const randomText = () => randomBytes(32).toString('base64url')
