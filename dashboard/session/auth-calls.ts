import { lengthOf } from '../time/times.ts'

// The HTTP paths of signing in. better-auth's client would cost more bytes than these calls.

interface AuthFault {
  /** The error code. */
  code: string | undefined
  message: string
  /** How long to wait, when the error says so. */
  retryAfterSeconds: number | undefined
}

/** A call that the server refused. */
export class AuthError extends Error {
  readonly fault: AuthFault
  constructor(fault: AuthFault) {
    super(fault.message)
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
  const { error: code, message = 'The server had a fault. Try again.', retry_after: retryAfterSeconds } = content ?? {}
  throw new AuthError({ code, message, retryAfterSeconds })
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

export const setNewPassword = (currentPassword: string, newPassword: string) =>
  call('/change-password', { currentPassword, newPassword, revokeOtherSessions: true })

/** The purpose of a visit to the issuer of OpenID Connect. */
export interface OidcStart {
  purpose: 'sign-in' | 'link' | 'confirm'
  /** The token of the invitation to accept. */
  invitation?: string
  /** The path to come back to, below /dashboard. */
  back?: string
}

/** The longest path that the server keeps. */
const LONGEST_BACK = 1_024

/** Begins a visit to the issuer. Resolves to the address to send the browser to. */
export const startOidc = ({ back = '', ...start }: OidcStart) =>
  call<{ url: string }>('/oidc/start', { ...start, ...(back.length <= LONGEST_BACK && { back }) })

/** Ends the visit with the query string that the issuer sent back. */
export const finishOidc = (response: string) =>
  call<{ back?: string; twoFactorRedirect?: boolean }>('/oidc/finish', { response })

export const signOut = () => call('/sign-out', {})

/** The words for an error of these calls. */
export function wordsForAuth(error: unknown): string {
  if (!(error instanceof AuthError)) return 'The server did not respond. Check your connection and try again.'
  const { code, message, retryAfterSeconds = 60 } = error.fault
  if (code !== 'rate_limit_exceeded') return message
  return `Too many attempts. Try again in ${lengthOf(retryAfterSeconds * 1_000)}.`
}
