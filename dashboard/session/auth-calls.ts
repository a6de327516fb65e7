import { lengthOf } from '../time/times.ts'

// better-auth's own HTTP paths. Its client would cost more bytes than these calls.

interface AuthFault {
  status: number
  code: string | undefined
  /** How long to wait after too many attempts. */
  retryAfterSeconds: number | undefined
}

/** A call that better-auth refused. */
export class AuthError extends Error {
  readonly fault: AuthFault
  constructor(fault: AuthFault) {
    super(fault.code ?? `HTTP ${fault.status}`)
    this.fault = fault
  }
}

/** A password is checked slowly on purpose, which still takes less. */
const LIMIT_MS = 15_000

async function call<T>(path: string, body: object): Promise<T> {
  const response = await fetch(`/api/auth${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(LIMIT_MS),
  })
  const content = await response.json().catch(() => ({}))
  if (response.ok) return content as T
  const { code, retry_after: retryAfterSeconds } = content ?? {}
  throw new AuthError({ status: response.status, code, retryAfterSeconds })
}

/** Signs in. Resolves to whether a code from the authenticator app is needed, too. */
export async function signIn(email: string, password: string): Promise<{ needsCode: boolean }> {
  const { twoFactorRedirect = false } = await call<{ twoFactorRedirect?: boolean }>('/sign-in/email', {
    email,
    password,
  })
  return { needsCode: twoFactorRedirect }
}

/** The second step of signing in, and the last step of turning the second factor on. */
export const verifyCode = (code: string) => call('/two-factor/verify-totp', { code })

/** The second step of signing in with one of the codes that were stored for a lost phone. */
export const verifyBackupCode = (code: string) => call('/two-factor/verify-backup-code', { code })

export interface NewSecondFactor {
  /** For the authenticator app: `otpauth://totp/...`. */
  totpURI: string
  backupCodes: string[]
}

export const enableSecondFactor = (password: string) => call<NewSecondFactor>('/two-factor/enable', { password })

export const disableSecondFactor = (password: string) => call('/two-factor/disable', { password })

export const changePassword = (currentPassword: string, newPassword: string) =>
  call('/change-password', { currentPassword, newPassword, revokeOtherSessions: true })

export const signOut = () => call('/sign-out', {})

const WORDS: Record<string, string> = {
  INVALID_EMAIL_OR_PASSWORD: 'The address or the password is wrong. Check both and try again.',
  INVALID_EMAIL: 'The address is not an email address.',
  INVALID_PASSWORD: 'That is not your password. Try again.',
  PASSWORD_TOO_SHORT: 'A password has at least 12 characters.',
  PASSWORD_TOO_LONG: 'A password has at most 128 characters.',
  INVALID_CODE: 'That code is wrong or too old. Enter the code that the app shows now.',
  INVALID_BACKUP_CODE: 'That code is wrong, or it was used before.',
  INVALID_TWO_FACTOR_COOKIE: 'This took too long. Sign in again from the start.',
  TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE: 'Too many wrong codes. Sign in again from the start.',
}

/** The words for an error of these calls. */
export function wordsForAuth(error: unknown): string {
  if (!(error instanceof AuthError)) return 'The server did not respond. Check your connection and try again.'
  const { status, code, retryAfterSeconds = 60 } = error.fault
  if (status === 429) return `Too many attempts. Try again in ${lengthOf(retryAfterSeconds * 1_000)}.`
  if (code && WORDS[code]) return WORDS[code]
  if (status === 401) return 'You are signed out. Sign in again.'
  return 'The server had a fault. Try again.'
}
