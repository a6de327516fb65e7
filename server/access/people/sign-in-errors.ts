import type { ConnectError } from '@connectrpc/connect'
import { type ErrorReason, fail } from '../../errors.ts'
import { PASSWORD } from './password.ts'

type SignInError = [reason: ErrorReason, message: string]

const LOCKED_SECONDS = 15 * 60
const FITTING_PASSWORD = `A password has ${PASSWORD.min} to ${PASSWORD.max} characters.`
const NO_SECOND_FACTOR = 'This person has no second factor. Set it up first.'
const START_AGAIN = 'This sign-in has ended. Sign in again from the start.'

/** Our errors for the codes of better-auth that the paths we serve return. */
const BY_CODE: Record<string, SignInError> = {
  INVALID_EMAIL_OR_PASSWORD: ['wrong_credentials', 'The address or the password is wrong. Check both and try again.'],
  INVALID_EMAIL: ['invalid_address', 'The address is not an email address.'],
  INVALID_PASSWORD: ['wrong_password', 'This is not your password.'],
  PASSWORD_TOO_SHORT: ['invalid_payload', FITTING_PASSWORD],
  PASSWORD_TOO_LONG: ['invalid_payload', FITTING_PASSWORD],
  CREDENTIAL_ACCOUNT_NOT_FOUND: ['wrong_state', 'This person has no password.'],
  FAILED_TO_CREATE_SESSION: ['transient_failure', 'The session could not be created. Try again.'],
  INVALID_CODE: ['wrong_code', 'That code is wrong or too old. Enter the code that the app shows now.'],
  INVALID_BACKUP_CODE: ['wrong_code', 'That code is wrong, or it was used before.'],
  INVALID_TWO_FACTOR_COOKIE: ['invalid_session', START_AGAIN],
  TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE: ['invalid_session', `Too many wrong codes. ${START_AGAIN}`],
  ACCOUNT_TEMPORARILY_LOCKED: ['rate_limit_exceeded', 'Too many wrong codes. Try again in 15 minutes.'],
  TWO_FACTOR_NOT_ENABLED: ['wrong_state', NO_SECOND_FACTOR],
  TOTP_NOT_ENABLED: ['wrong_state', NO_SECOND_FACTOR],
  BACKUP_CODES_NOT_ENABLED: ['wrong_state', NO_SECOND_FACTOR],
  TOTP_ALREADY_ENABLED: ['wrong_state', 'The second factor is set up already. End it first.'],
}

/** For other codes. On the paths we serve, 403 is the check of the request's origin. */
const BY_STATUS: Record<number, SignInError> = {
  400: ['invalid_payload', 'The request is not valid.'],
  401: ['invalid_session', 'You are not signed in, or your session has ended. Sign in, and try again.'],
  403: [
    'wrong_origin',
    'The request comes from a page of another site. Open the dashboard at the address in PUBLIC_URL.',
  ],
  404: ['not_found', 'There is nothing at this path.'],
  409: ['wrong_state', 'Another request changed this at the same moment. Try again.'],
  413: ['payload_too_large', 'The request is too large.'],
  415: ['unsupported_media_type', 'The body must be JSON: send the header "Content-Type: application/json".'],
  422: ['invalid_payload', 'The request is not valid.'],
  429: ['rate_limit_exceeded', 'Too many attempts that failed. Try again in 15 minutes.'],
}

const FAULT: SignInError = ['transient_failure', 'A fault of the service. It is safe to retry.']

/** Our error for an error response of better-auth. */
export function signInError(status: number, body: string): ConnectError {
  const { code = '' } = readBody(body)
  const [reason, text] = (Object.hasOwn(BY_CODE, code) ? BY_CODE[code] : BY_STATUS[status]) ?? FAULT
  return fail(reason, text, reason === 'rate_limit_exceeded' ? { retryAfterSeconds: LOCKED_SECONDS } : {})
}

function readBody(body: string): { code?: string } {
  try {
    return JSON.parse(body) ?? {}
  } catch {
    return {}
  }
}
