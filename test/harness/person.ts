import { randomBytes } from 'node:crypto'
import type { DescService } from '@bufbuild/protobuf'
import {
  type Client,
  ConnectError,
  createClient,
  createServiceImplSpec,
  type ServiceImplSpec,
} from '@connectrpc/connect'
import { createConnectTransport } from '@connectrpc/connect-node'
import { expect } from 'vitest'
import { PersonService } from '../../gen/verdict/admin/v1/person_pb.ts'
import { createHeavyCallLimit } from '../../server/access/heavy-calls.ts'
import { createKeyGate } from '../../server/access/key-gate.ts'
import { createOpenCalls } from '../../server/access/open-calls.ts'
import type { Role } from '../../server/access/people/access.ts'
import { createSessionCookie, SESSION_DAYS } from '../../server/access/people/cookie.ts'
import type { OidcConfig } from '../../server/access/people/oidc/issuer.ts'
import { hashPassword } from '../../server/access/people/password.ts'
import { createPeople } from '../../server/access/people/people.ts'
import { signingKeys } from '../../server/access/people/signing-keys.ts'
import { createPersonService } from '../../server/admin/person.ts'
import { DEFAULT_LIMITS, type OperatorLimits } from '../../server/config/limits.ts'
import type { DatabaseClock } from '../../server/db/clock.ts'
import type { Database } from '../../server/db/connect.ts'
import { createSealer, type Sealer } from '../../server/db/encryption.ts'
import { newId, publicId } from '../../server/db/ids.ts'
import { credentials, members, people, sessions } from '../../server/db/people-schema.ts'
import { contentsOfError } from '../../server/errors.ts'
import { createApp } from '../../server/http/app.ts'
import { listen } from '../../server/http/listener/listen.ts'
import type { Frames } from '../../server/http/site/frame-routes.ts'
import { createLogger } from '../../server/process/log.ts'
import { atEnd } from './until-end.ts'

const HOUR_MS = 3_600_000

export interface Belonging {
  /** The account (UUID) that the person belongs to, and that the calls are about. Absent for no account. */
  accountId?: string
  /** `owner` by default. */
  role?: Role
  /** Whether the password was entered in the last ten minutes; true by default. */
  confirmed?: boolean
  /** Only a person with one can confirm it or sign in. Hashing it takes 60 ms. */
  password?: string
}

export interface SignedIn {
  personId: string
  sessionId: string
  email: string
  /** `name=value`. */
  cookie: string
  /** The headers of a Connect call by `fetch`. */
  headers: Record<string, string>
  /** Calls a service with the session. */
  client<Service extends DescService>(service: Service, url: string): Client<Service>
}

interface NewPerson extends Omit<Belonging, 'confirmed'> {
  /** An address of `people.test` by default. */
  email?: string
}

/** Creates a person without a session. */
export async function addPerson(db: Database, { accountId, role = 'owner', password, email }: NewPerson) {
  const personId = newId(Date.now())
  const person = { personId, email: email ?? `${personId}@people.test` }
  await db.insert(people).values({ id: personId, name: `The ${role}`, email: person.email })
  if (accountId) await db.insert(members).values({ accountId, personId, role })
  if (password) {
    const hash = await hashPassword(password)
    await db.insert(credentials).values({
      id: newId(Date.now()),
      userId: personId,
      accountId: personId,
      providerId: 'credential',
      password: hash,
    })
  }
  return person
}

/** Creates a person with a session, as a sign-in does. The server must run with the same sealer, and without https. */
export async function signIn(
  { db, clock, sealer }: { db: Database; clock: DatabaseClock; sealer: Sealer },
  { confirmed = true, ...belonging }: Belonging = {},
): Promise<SignedIn> {
  const now = clock.now()
  const { personId, email } = await addPerson(db, belonging)
  const sessionId = newId(now)
  const token = randomBytes(16).toString('hex')
  const createdAt = new Date(confirmed ? now : now - HOUR_MS)
  await db.insert(sessions).values({
    id: sessionId,
    token,
    userId: personId,
    createdAt,
    updatedAt: createdAt,
    confirmedAt: createdAt,
    expiresAt: new Date(now + SESSION_DAYS * 24 * HOUR_MS),
  })
  const cookie = createSessionCookie({ keys: signingKeys(sealer), secure: false }).pair(token)
  return { personId, sessionId, email, ...callsWith(cookie, belonging.accountId) }
}

/** The headers and the client of calls with a session's cookie. */
export function callsWith(cookie: string, accountId?: string): Pick<SignedIn, 'cookie' | 'headers' | 'client'> {
  const own = { cookie, ...(accountId && { 'verdict-account': publicId('acc', accountId) }) }
  const headers = { ...own, 'content-type': 'application/json', 'connect-protocol-version': '1' }
  return {
    cookie,
    headers,
    client(service, url) {
      const transport = createConnectTransport({
        baseUrl: url,
        httpVersion: '1.1',
        interceptors: [
          (next) => (request) => {
            for (const [name, value] of Object.entries(own)) request.header.set(name, value)
            return next(request)
          },
        ],
      })
      return createClient(service, transport)
    },
  }
}

interface DashboardOptions {
  db: Database
  clock: DatabaseClock
  /** Services of `verdict.admin.v1` that need a session. */
  services?: ServiceImplSpec[]
  /** Services that every caller may call, made of the parts that the server has itself. */
  openServices?(people: ReturnType<typeof createPeople>): ServiceImplSpec[]
  /** Services of `verdict.v1`. */
  publicServices?: ServiceImplSpec[]
  frames?: Frames
  /** Addresses whose X-Forwarded-For counts. */
  trustProxy?: string[]
  /** By default one with a new key. */
  sealer?: Sealer
  /** By default where it listens. */
  publicUrl?: string
  /** The limits of tiers, by default the service's. */
  limits?: OperatorLimits
  oidc?: OidcConfig
}

/** Serves services behind the gates of API keys and sessions, for the tests of single services. */
export async function startDashboard({ db, clock, trustProxy, frames, ...more }: DashboardOptions) {
  const {
    services = [],
    openServices,
    publicServices = [],
    sealer = newSealer(),
    publicUrl,
    oidc,
    limits = DEFAULT_LIMITS,
  } = more
  const log = createLogger('silent')
  const url = () => listener.url
  const own = createPeople({
    db,
    clock,
    sealer,
    log,
    limits,
    oidc,
    publicUrl: () => publicUrl ?? url(),
  })
  const app = await createApp({
    services: publicServices,
    interceptors: [createHeavyCallLimit()],
    gate: createKeyGate({ db, clock, limits }),
    dashboard: { ...own, services, openServices: openServices?.(own) ?? [], frames },
    openCalls: createOpenCalls(),
    log,
    checks: async () => ({ database: 'ok' }),
    about: { version: 'test', region: 'eu' },
    trustProxy,
    keySet: { read: async () => ({ keys: [] }), maxAgeSeconds: 300 },
  })
  const listener = await listen(app, { host: '127.0.0.1', port: 0 })
  atEnd(() => listener.close({ timeoutMs: 0 }))
  return {
    url: listener.url,
    sealer,
    /** Creates a person who is signed in, and calls a service as that person. */
    async person(belonging: Belonging = {}) {
      const person = await signIn({ db, clock, sealer }, belonging)
      return { ...person, client: <S extends DescService>(service: S) => person.client(service, listener.url) }
    },
  }
}

/** The service of a person about themselves. */
export const personService = ({ db, clock }: Pick<DashboardOptions, 'db' | 'clock'>) =>
  createServiceImplSpec<typeof PersonService>(
    PersonService,
    createPersonService({
      db,
      clock,
      about: { version: 'test', region: 'eu' },
      publicUrl: () => 'http://verdict.test',
    }),
  )

/** What a call answers that is refused. */
export const faultsOf = (call: Promise<unknown>) =>
  call.then(
    () => expect.unreachable('the call succeeded'),
    (error) => contentsOfError(ConnectError.from(error)),
  )

const newSealer = () => createSealer([{ id: 'test', key: randomBytes(32) }])
