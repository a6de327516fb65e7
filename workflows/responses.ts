import { type CauseCode, causeOf } from '../server/webhooks/post/causes.ts'
import type { StoredOutcome } from '../server/webhooks/post/post-outcomes.ts'

/** How an attempt ended that was not acknowledged; empty when another process made the attempt. */
interface FailedAttempt {
  outcome?: StoredOutcome
  statusCode?: number
  cause?: CauseCode
}

/** What to say of an attempt that got no HTTP response. */
const WITHOUT_RESPONSE: Record<StoredOutcome, string | undefined> = {
  dns: 'its name was not found',
  blocked: 'its address may not be called',
  tls: 'its TLS failed',
  connect: 'no connection',
  timeout_head: 'no response in time',
  unknown: 'unknown: the process that made the attempt ended',
  // These have the status of their response.
  acked: undefined,
  not_200: undefined,
  success_but_not_200: undefined,
  timeout_body: undefined,
}

/** Names the responses of an endpoint, the most frequent first: "HTTP 503", or "HTTP 503 (40), no connection (2)". */
export function describeResponses(attempts: readonly FailedAttempt[]): string | undefined {
  const counts = new Map<string, number>()
  for (const attempt of attempts) {
    const response = responseOf(attempt)
    if (response) counts.set(response, (counts.get(response) ?? 0) + 1)
  }
  if (counts.size === 1) return [...counts.keys()][0]
  const parts = [...counts].toSorted(([, a], [, b]) => b - a).map(([response, count]) => `${response} (${count})`)
  return parts.length > 0 ? parts.join(', ') : undefined
}

function responseOf({ outcome, statusCode, cause }: FailedAttempt): string | undefined {
  if (statusCode !== undefined) return `HTTP ${statusCode}`
  return causeOf(cause)?.short ?? (outcome && WITHOUT_RESPONSE[outcome])
}
