import { timestampFromDate, timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import type { PersonService } from '../../gen/verdict/admin/v1/person_pb.ts'
import { authorIn, type Requester } from '../access/audit/change-as.ts'
import { recordForPerson } from '../access/audit/record-for-person.ts'
import { requesterOf } from '../access/audit/requester.ts'
import { countWrong } from '../access/people/credential-attempts.ts'
import { isPasswordOf } from '../access/people/credentials.ts'
import { signInMethodsOf, unlinkIdentity } from '../access/people/oidc/identities.ts'
import { confirmedUntilMs, confirmSession, endSession, listSessions, lockSessions } from '../access/people/sessions.ts'
import { createWindows } from '../access/windows.ts'
import { type CallingPerson, callerOf, remoteAddressKey } from '../caller.ts'
import type { Database } from '../db/connect.ts'
import { asc, eq } from '../db/drizzle.ts'
import { parsePublicId, publicId } from '../db/ids.ts'
import { members, people, sessions } from '../db/people-schema.ts'
import { accounts } from '../db/schema.ts'
import { one } from '../db/statement.ts'
import { fail } from '../errors.ts'
import type { Backend } from '../services/backend.ts'
import { readName } from './account.ts'
import { roleNames } from './role.ts'

const SHOWN_AGENT = 256

/** Whoever found an open browser must not guess the password in it. */
const CONFIRMATIONS = { limit: 10, windowMs: 15 * 60_000 }

export interface PersonServiceParts extends Pick<Backend, 'db' | 'clock' | 'about' | 'publicUrl' | 'temporalUiUrl'> {
  /** Whether the simulator's inbox can be read. */
  hasInbox?: boolean
  /** The issuer of OpenID Connect; undefined without one. */
  issuer?: { url: string; host: string }
}

export function createPersonService(parts: PersonServiceParts): ServiceImpl<typeof PersonService> {
  const { db, clock } = parts
  const tryPassword = createWindows(CONFIRMATIONS)
  return {
    getPerson: (_, context) => getPerson(parts, personOf(context)),
    async listSessions(_, context) {
      const { personId, sessionId: current } = personOf(context)
      const rows = await listSessions(db, clock, personId)
      return { sessions: rows.map((row) => sessionOf(row, current)) }
    },
    async endSession({ sessionId }, context) {
      const id = parsePublicId('ses', sessionId)
      const isEnded = id !== undefined && (await endOwnSession(db, id, personOf(context), requesterOf(context.values)))
      if (!isEnded) throw fail('not_found', 'You have no such session. It may have ended.')
      return {}
    },
    async confirmPassword({ password }, context) {
      const { personId, sessionId } = personOf(context)
      const check = () => isPasswordOf(db, personId, password, context.values.get(remoteAddressKey))
      const isRight = await countWrong([() => tryPassword(sessionId)], check, (isRight) => !isRight)
      if (!isRight) throw fail('wrong_password', 'This is not your password.')
      return { confirmedUntil: timestampFromMs(await confirmSession(db, clock, sessionId)) }
    },
    async changeName(request, context) {
      await changeName(db, readName(request.name), personOf(context), requesterOf(context.values))
      return {}
    },
    async unlinkIdentity({ issuer }, context) {
      const { personId, email } = personOf(context)
      await db.transaction(async (tx) => {
        const { remoteAddress } = await authorIn(tx, requesterOf(context.values))
        await unlinkIdentity(tx, { personId, email, remoteAddress, issuer, currentIssuer: parts.issuer?.url })
      })
      return {}
    },
  }
}

async function getPerson(parts: PersonServiceParts, { personId, sessionId }: CallingPerson) {
  const { db, clock } = parts
  const [row] = await db
    .select({ person: people, session: sessions })
    .from(people)
    .innerJoin(sessions, eq(sessions.userId, people.id))
    .where(eq(sessions.id, sessionId))
  if (!row) throw fail('invalid_session', 'Your session has ended. Sign in, and try again.')
  const { name, email, twoFactorEnabled } = row.person
  const untilMs = confirmedUntilMs(row.session)
  return {
    personId: publicId('per', personId),
    name,
    email,
    secondFactor: twoFactorEnabled ?? false,
    ...(await shownMethods(parts, personId)),
    accounts: await membershipsOf(parts, personId),
    installation: installationOf(parts),
    confirmedUntil: untilMs > clock.now() ? timestampFromMs(untilMs) : undefined,
  }
}

/** Returns false when the person has no such session. */
function endOwnSession(db: Database, id: string, { personId, email }: CallingPerson, requester: Requester) {
  return db.transaction(async (tx) => {
    await lockSessions(tx, personId)
    const { remoteAddress } = await authorIn(tx, requester)
    if (!(await endSession(tx, personId, id))) return false
    await recordForPerson(tx, { personId, email, action: 'person.end_session', remoteAddress })
    return true
  })
}

function changeName(db: Database, name: string, { personId, email }: CallingPerson, requester: Requester) {
  return db.transaction(async (tx) => {
    const { remoteAddress } = await authorIn(tx, requester)
    const isIt = eq(people.id, personId)
    const before = one(await tx.select({ name: people.name }).from(people).where(isIt).for('no key update'))
    await tx.update(people).set({ name }).where(isIt)
    const change = { before: { name: before.name }, after: { name } }
    await recordForPerson(tx, { personId, email, action: 'person.rename', remoteAddress, ...change })
  })
}

async function shownMethods({ db }: PersonServiceParts, personId: string) {
  const { hasPassword, identities } = await signInMethodsOf(db, personId)
  const shown = identities.map(({ issuer, createdAt }) => ({ issuer, linkedAt: timestampFromDate(createdAt) }))
  return { hasPassword, identities: shown }
}

export function personOf(context: Pick<HandlerContext, 'values'>): CallingPerson {
  const { person } = callerOf(context)
  if (!person) throw new Error('the caller is no person')
  return person
}

async function membershipsOf({ db }: PersonServiceParts, personId: string) {
  const rows = await db
    .select({ id: accounts.id, name: accounts.name, role: members.role })
    .from(members)
    .innerJoin(accounts, eq(accounts.id, members.accountId))
    .where(eq(members.personId, personId))
    .orderBy(asc(accounts.name), asc(accounts.id))
  return rows.map(({ id, name, role }) => ({ accountId: publicId('acc', id), name, role: roleNames.value(role) }))
}

function installationOf({ about, publicUrl, temporalUiUrl, hasInbox, issuer }: PersonServiceParts) {
  return { ...about, publicUrl: publicUrl(), inbox: hasInbox, temporalUiUrl, issuer: issuer?.url }
}

function sessionOf(row: typeof sessions.$inferSelect, current: string) {
  return {
    sessionId: publicId('ses', row.id),
    current: row.id === current,
    userAgent: (row.userAgent ?? '').slice(0, SHOWN_AGENT),
    remoteAddress: row.ipAddress ?? '',
    createdAt: timestampFromDate(row.createdAt),
    lastUsedAt: timestampFromDate(row.updatedAt),
    expiresAt: timestampFromDate(row.expiresAt),
  }
}
