import { compactVerify, createLocalJWKSet, errors, type JSONWebKeySet } from 'jose'
import { RECEIPT_ALGORITHM, RECEIPT_TYPE, type ReceiptClaims } from './claims.ts'

/** What can be wrong with a receipt. */
export type ReceiptFault =
  | 'not_a_receipt'
  | 'truncated'
  | 'wrong_type'
  | 'wrong_algorithm'
  | 'unknown_key'
  | 'forged'
  | 'wrong_issuer'

export type ReceiptVerification =
  | { claims: ReceiptClaims; kid: string }
  /** `why` is a sentence about the receipt. */
  | { fault: ReceiptFault; why: string }

const SIGNATURE_BYTES = 64

/**
 * Verifies a receipt against a key set, without any other source. With `issuer`, the receipt must be from there: a key
 * set of one service must not vouch for receipts in the name of another.
 */
export async function verifyReceipt(jws: string, keySet: JSONWebKeySet, issuer?: string): Promise<ReceiptVerification> {
  const parts = jws.split('.')
  const [encodedHeader = '', encodedClaims = '', encodedSignature = ''] = parts
  const header = readJson(encodedHeader) as Partial<Record<'typ' | 'alg' | 'kid' | 'crit', unknown>> | undefined
  if (!header) return refuse('not_a_receipt', 'It is not a JSON Web Signature.')
  if (header.typ !== RECEIPT_TYPE) {
    return refuse('wrong_type', `Its type is ${show(header.typ)}. The type of a receipt is ${show(RECEIPT_TYPE)}.`)
  }
  if (header.alg !== RECEIPT_ALGORITHM) {
    const why = `Its algorithm is ${show(header.alg)}. Receipts are signed with ${RECEIPT_ALGORITHM} and nothing else.`
    return refuse('wrong_algorithm', why)
  }
  // RFC 7515 4.1.11: whoever does not know what is critical must not take it for verified.
  if (header.crit !== undefined) return refuse('not_a_receipt', 'It has a critical header, and no receipt has one.')
  if (parts.length > 3) return refuse('not_a_receipt', `It has ${parts.length} parts instead of three.`)
  const signature = Buffer.from(encodedSignature, 'base64url')
  if (signature.length < SIGNATURE_BYTES) return refuse('truncated', 'Its end is missing.')
  if (!parts.every(isCanonical)) return refuse('forged', 'It has characters that do not belong to it.')
  if (typeof header.kid !== 'string') return refuse('unknown_key', 'It does not say which key signed it.')

  try {
    await compactVerify(jws, createLocalJWKSet(keySet), { algorithms: [RECEIPT_ALGORITHM] })
  } catch (error) {
    return faultOf(error, header.kid)
  }
  const claims = readClaims(encodedClaims)
  if (!claims) return refuse('not_a_receipt', 'The signature is valid, but the claims are not those of a receipt.')
  if (issuer !== undefined && claims.iss !== issuer) {
    return refuse('wrong_issuer', `Its issuer is ${show(claims.iss)}, not ${show(issuer)}.`)
  }
  return { claims, kid: header.kid }
}

const refuse = (fault: ReceiptFault, why: string) => ({ fault, why })

/** A value of the receipt, for a message. */
const show = (value: unknown) => (value === undefined ? 'missing' : JSON.stringify(value).slice(0, 200))

/** base64url has spare bits in its last character. Only one of the spellings of a value is what the service signed. */
const isCanonical = (part: string) => Buffer.from(part, 'base64url').toString('base64url') === part

function faultOf(error: unknown, kid: string): ReceiptVerification {
  if (error instanceof errors.JWSSignatureVerificationFailed) {
    return refuse('forged', 'The signature does not match: the receipt was changed, or another key signed it.')
  }
  if (error instanceof errors.JWKSNoMatchingKey) {
    const why = `The key set has no key ${show(kid)}. A key that is newer than your copy is in the issuer's current set.`
    return refuse('unknown_key', why)
  }
  return refuse('not_a_receipt', `It cannot be verified: ${(error as Error).message}.`)
}

function readJson(part: string): object | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString())
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

function readClaims(payload: string): ReceiptClaims | undefined {
  const claims = readJson(payload) as ReceiptClaims | undefined
  const isWhole =
    claims !== undefined &&
    typeof claims.iss === 'string' &&
    typeof claims.sub === 'string' &&
    typeof claims.iat === 'number' &&
    typeof claims.from_domain === 'string' &&
    TIME.test(claims.created_at) &&
    typeof claims.sandbox === 'boolean' &&
    Array.isArray(claims.recipients) &&
    claims.recipients.every(({ email, status, at }) => [email, status].every(isText) && TIME.test(at))
  return isWhole ? claims : undefined
}

const isText = (value: unknown) => typeof value === 'string'
