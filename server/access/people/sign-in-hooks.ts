import type { BetterAuthOptions, GenericEndpointContext } from 'better-auth'
import type { Database } from '../../db/connect.ts'
import type { people } from '../../db/people-schema.ts'
import type { Change } from '../audit/record-change.ts'
import { recordForPerson } from '../audit/record-for-person.ts'
import { countGuess, forgetGuesses } from './code-guesses.ts'
import { type Changer, changePassword, changeSecondFactor } from './credential-changes.ts'
import { passwordHashOf } from './credentials.ts'
import type { FailedSignIn, NoteFailedSignIn } from './failed-sign-ins.ts'
import { findPerson } from './join.ts'
import { spendCode } from './totp.ts'

/** The header in which `authenticate` tells better-auth the caller's address. A caller cannot set it. */
export const ADDRESS_HEADER = 'x-verdict-address'

type Context = GenericEndpointContext
type EndContext = Parameters<Parameters<BetterAuthApi['createAuthMiddleware']>[0]>[0]
type Person = Pick<typeof people.$inferSelect, 'id' | 'email'>

type BetterAuthApi = Pick<
  typeof import('better-auth/api'),
  'APIError' | 'createAuthMiddleware' | 'getSessionFromCtx' | 'isAPIError'
>

interface SignInHookParts {
  db: Database
  noteFailedSignIn: NoteFailedSignIn
  /** The functions of better-auth, which is loaded late. */
  api: BetterAuthApi
  symmetricDecrypt: typeof import('better-auth/crypto').symmetricDecrypt
}

/** What happens before and after the requests of better-auth, and before its changes. */
export function createSignInHooks(parts: SignInHookParts): Pick<BetterAuthOptions, 'hooks' | 'databaseHooks'> {
  const { db, api } = parts
  return {
    hooks: {
      before: api.createAuthMiddleware(async (context) => {
        if (context.path === '/sign-in/email') await readNoCredentials(db, context.body.email)
        if (!CODE_PATHS.includes(context.path) || (await isFit(parts, context))) return undefined
        // better-auth then takes it for a wrong code.
        return { context: { body: { code: '' } } }
      }),
      after: api.createAuthMiddleware((context) => recordEnd(parts, context)),
    },
    // Our transaction makes the change with its consequences. better-auth then writes the same change again.
    databaseHooks: {
      account: {
        update: {
          before: async ({ password }, context) => {
            if (password) await changePassword(db, changerOf(context), password)
          },
        },
      },
      user: {
        update: {
          before: async ({ twoFactorEnabled }: Record<string, unknown>, context) => {
            if (typeof twoFactorEnabled === 'boolean') {
              await changeSecondFactor(db, changerOf(context), twoFactorEnabled)
            }
          },
        },
      },
    },
  }
}

/** better-auth reads the credentials of the person whom it finds. This reads as long where it finds none. */
async function readNoCredentials(db: Database, email: string): Promise<void> {
  if ((await findPerson(db, email.toLowerCase())) === undefined) await passwordHashOf(db)
}

function changerOf(context: Context | null | undefined): Changer {
  if (!context?.context.session) throw new Error('a change without a session')
  const { user, session } = context.context.session
  return { personId: user.id, email: user.email, sessionId: session.id, remoteAddress: addressOf(context) }
}

const addressOf = ({ headers }: Context) => headers?.get(ADDRESS_HEADER) ?? undefined

const CODE_PATHS = ['/two-factor/verify-totp', '/two-factor/verify-backup-code']

/** Uses a code of the app up. Returns whether it was good; better-auth decides about a backup code. */
async function isFit(parts: SignInHookParts, context: Context): Promise<boolean> {
  const signedIn = (await parts.api.getSessionFromCtx(context))?.user.id
  const personId = signedIn ?? (await personHalfway(context))
  if (personId === undefined) return false
  if (signedIn === undefined && !(await countGuess(parts.db, personId))) {
    throw new parts.api.APIError('TOO_MANY_REQUESTS', { code: 'ACCOUNT_TEMPORARILY_LOCKED' })
  }
  if (context.path !== '/two-factor/verify-totp') return true
  const decrypt = (data: string) => parts.symmetricDecrypt({ key: context.context.secretConfig, data })
  return spendCode(parts.db, { personId, code: context.body.code, nowMs: Date.now(), decrypt })
}

/** The person who has entered the password, and now enters a code. */
async function personHalfway({ context, getSignedCookie }: Context): Promise<string | undefined> {
  const identifier = await getSignedCookie(context.createAuthCookie('two_factor').name, context.secret)
  return identifier ? (await context.internalAdapter.findVerificationValue(identifier))?.value : undefined
}

/** The requests that are recorded when they succeed. The others are recorded with their change, or not at all. */
const RECORDED: Record<string, Pick<Change, 'action'>> = {
  '/two-factor/enable': { action: 'person.make_backup_codes' },
  '/two-factor/generate-backup-codes': { action: 'person.make_backup_codes' },
  '/two-factor/verify-backup-code': { action: 'person.use_backup_code' },
}

async function recordEnd(parts: SignInHookParts, context: EndContext): Promise<void> {
  const { returned, session } = context.context
  const remoteAddress = addressOf(context)
  if (parts.api.isAPIError(returned)) {
    const as = returned.status === 'UNAUTHORIZED' && !session ? await personWanted(context) : undefined
    if (as) parts.noteFailedSignIn({ as, remoteAddress })
    return
  }
  const entry = RECORDED[context.path]
  const isCode = CODE_PATHS.includes(context.path)
  if (!entry && !isCode) return
  const { id: personId, email } = session?.user ?? (returned as { user: Person }).user
  if (isCode) await forgetGuesses(parts.db, personId)
  if (!entry) return
  await recordForPerson(parts.db, { personId, email, remoteAddress, ...entry })
}

/** Whom a caller without a session wanted to sign in as. */
async function personWanted(context: Context): Promise<FailedSignIn['as'] | undefined> {
  if (context.path === '/sign-in/email') return { email: context.body.email }
  const personId = await personHalfway(context)
  return personId === undefined ? undefined : { personId }
}
