import { type FieldFault, failFields } from '../../errors.ts'

/** `ends others` is an old choice: a new password always ends every other session. */
type FieldKind = 'text' | 'optional text' | 'ends others'

/** The paths that are served below /api/auth, all by POST, and the fields of each. */
const FIELDS: Record<string, Record<string, FieldKind>> = {
  '/sign-in/email': { email: 'text', password: 'text' },
  '/sign-out': {},
  '/change-password': { currentPassword: 'text', newPassword: 'text', revokeOtherSessions: 'ends others' },
  '/two-factor/enable': { password: 'text' },
  '/two-factor/disable': { password: 'text' },
  '/two-factor/generate-backup-codes': { password: 'text' },
  '/two-factor/verify-totp': { code: 'text' },
  '/two-factor/verify-backup-code': { code: 'text' },
  '/oidc/start': { purpose: 'text', invitation: 'optional text', back: 'optional text' },
  '/oidc/finish': { response: 'text' },
}

/** Characters of an unknown field's name that the response repeats. */
const SHOWN_NAME = 64

export const SIGN_IN_PATHS = Object.keys(FIELDS)

/**
 * Checks the body of a request to one of the paths. better-auth has more fields than the table: some remember a
 * browser, some use up a code without a sign-in. Throws `invalid_payload`.
 */
export function checkSignInFields(path: string, body: Record<string, unknown>): void {
  const known = FIELDS[path] ?? {}
  const unknown = Object.keys(body).filter((name) => !Object.hasOwn(known, name))
  const faults = [
    ...unknown.map((name) => ({ field: name.slice(0, SHOWN_NAME), message: 'is not a known field' })),
    ...Object.entries(known).flatMap(([field, kind]) => valueFault(field, kind, body[field])),
  ]
  if (faults.length > 0) throw failFields('invalid_payload', faults)
}

function valueFault(field: string, kind: FieldKind, value: unknown): FieldFault[] {
  if (kind === 'ends others') {
    const isFit = value === undefined || value === true
    return isFit ? [] : [{ field, message: 'must be true: a new password ends every other session' }]
  }
  if (typeof value === 'string' || (kind === 'optional text' && value === undefined)) return []
  return [{ field, message: value === undefined ? 'is required' : 'must be a string' }]
}
