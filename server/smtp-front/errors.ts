import type { ConnectError } from '@connectrpc/connect'
import { TOO_MANY_RECEIVED } from '../../mail/mime/raw/header.ts'
import { hideUnexpected, reasonOf } from '../errors.ts'

/** A reply of SMTP. The first digit of both codes says what the client is to do. */
export interface FrontReply {
  code: number
  enhanced: string
  text: string
}

type Codes = [code: number, enhanced: string]

/** The codes of each error that a send throws. Its words are those of the API. */
const CODES: Record<string, Codes> = {
  invalid_payload: [550, '5.6.0'],
  invalid_address: [550, '5.1.3'],
  invalid_api_key: [550, '5.7.8'],
  insufficient_scope: [550, '5.7.8'],
  domain_not_verified: [550, '5.7.1'],
  payload_too_large: [552, '5.3.4'],
  rate_limit_exceeded: [452, '4.7.1'],
}

const TRANSIENT_FAILURE: Codes = [451, '4.3.0']
const MAIL_LOOP: Codes = [554, '5.4.6']

/** The reply for an error. Unexpected ones tell nothing. */
export function replyToError(error: unknown): FrontReply {
  const shown: ConnectError = hideUnexpected(error)
  const isCircle = shown.rawMessage.includes(TOO_MANY_RECEIVED)
  const [code, enhanced] = isCircle ? MAIL_LOOP : (CODES[reasonOf(shown) ?? ''] ?? TRANSIENT_FAILURE)
  return { code, enhanced, text: shown.rawMessage }
}
