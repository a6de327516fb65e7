import { ConnectError } from '@connectrpc/connect'
import { BadRequestSchema, ErrorInfoSchema } from '../../gen/google/rpc/error_details_pb.ts'

/** The error code of a failed call; undefined when the server did not respond. */
export function errorCodeOf(error: unknown): string | undefined {
  if (!(error instanceof ConnectError)) return undefined
  return error.findDetails(ErrorInfoSchema).find((info) => info.domain === 'verdict')?.reason
}

/** What is wrong with each field of a refused call, by the field's path. */
export function fieldFaults(error: unknown): Map<string, string> {
  if (!(error instanceof ConnectError)) return new Map()
  const violations = error.findDetails(BadRequestSchema).flatMap((request) => request.fieldViolations)
  return new Map(violations.map(({ field, description }) => [field, sentence(description)]))
}

/** Errors in plain words: what happened, and what to do. Others show the server's own message. */
const WORDS: Record<string, string> = {
  invalid_session: 'You are signed out. Sign in again.',
  confirmation_required: 'Nothing was changed, because you did not enter your password.',
  wrong_password: 'That is not your password. Try again.',
  insufficient_role: 'Your role does not allow this. Ask an owner of the account.',
  last_owner: 'An account needs an owner. Make another person an owner first.',
  not_found: 'This does not exist in this account, or it was deleted. Check the id and the selected account.',
  event_expired: 'Its id is older than 90 days. Verdict keeps messages and events for 90 days.',
  webhook_not_configured: 'No endpoint is configured.',
}

/** The words for an error. */
export function wordsFor(error: unknown): string {
  const reason = errorCodeOf(error)
  const status = /^HTTP (\d+)/.exec(error instanceof ConnectError ? error.rawMessage : '')?.[1]
  if (status) return `The server, or a proxy before it, failed with status ${status}. Try again in a moment.`
  if (reason === undefined) return 'The server did not respond. Check your connection and try again.'
  return WORDS[reason] ?? (error as ConnectError).rawMessage
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.?]$/.test(text) ? '' : '.'}`
}
