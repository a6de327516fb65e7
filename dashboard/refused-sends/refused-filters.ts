import { ErrorReason } from '../../gen/verdict/v1/errors_pb.ts'
import type { Filter } from '../lists/filter.ts'
import { RECIPIENT_FILTER } from '../lists/outcome-filters.ts'
import { requestTime } from '../lists/read-filters.ts'
import { RANGE_PARAMETERS, type RangeSearch } from '../range/presets.ts'

/** What the list says of each error that a send can have, by the value in the address of the page. */
const ERRORS: [name: string, error: ErrorReason, word: string][] = [
  ['rate_limit_exceeded', ErrorReason.RATE_LIMIT_EXCEEDED, 'Over a limit'],
  ['invalid_payload', ErrorReason.INVALID_PAYLOAD, 'Request not accepted'],
  ['invalid_address', ErrorReason.INVALID_ADDRESS, 'Address not readable'],
  ['domain_not_verified', ErrorReason.DOMAIN_NOT_VERIFIED, 'Domain not of this account'],
  ['insufficient_scope', ErrorReason.INSUFFICIENT_SCOPE, 'Key lacks the scope'],
  ['payload_too_large', ErrorReason.PAYLOAD_TOO_LARGE, 'Too large'],
  ['unsupported_media_type', ErrorReason.UNSUPPORTED_MEDIA_TYPE, 'Not JSON'],
  ['transient_failure', ErrorReason.TRANSIENT_FAILURE, 'Fault of the service'],
]

/** An error of a later version has no word. */
export const errorWord = (error: ErrorReason): string => ERRORS.find(([, known]) => known === error)?.[2] ?? 'Refused'

/** The error as the API writes it. */
export const errorCode = (error: ErrorReason): string | undefined => ERRORS.find(([, known]) => known === error)?.[0]

export const REFUSED_FILTERS: Filter[] = [
  RECIPIENT_FILTER,
  { name: 'error', label: 'Error', choices: ERRORS.map(([name, , word]) => [name, word]) },
]

/** The parameters of the page's address. */
export const REFUSED_PARAMETERS: Filter[] = [...REFUSED_FILTERS, ...RANGE_PARAMETERS]

/** The filters as the address of the page has them. */
export interface RefusedSearch extends RangeSearch {
  recipient?: string
  error?: string
}

/** The request for the refused sends that match. */
export function refusedSendsRequest({ recipient, error, from, to }: RefusedSearch) {
  return {
    recipient,
    error: ERRORS.find(([name]) => name === error)?.[1],
    from: requestTime(from),
    to: requestTime(to),
  }
}
