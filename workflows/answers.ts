/** How an attempt ended that was not acknowledged; nothing, when it was made by somebody else. */
interface Answer {
  outcome?: string
  statusCode?: number
}

/** What an endpoint did instead of answering. */
const WORDS: Record<string, string> = {
  dns: 'its name was not found',
  blocked: 'its address may not be called',
  tls: 'its TLS failed',
  connect: 'no connection',
  timeout_head: 'no answer in time',
  unknown: 'unknown: the process that asked ended',
}

/** How attempts were answered, the most frequent answer first: "HTTP 503", or "HTTP 503 (40), no connection (2)". */
export function answersInWords(answers: readonly Answer[]): string | undefined {
  const counts = new Map<string, number>()
  for (const answer of answers) {
    const words = inWords(answer)
    if (words) counts.set(words, (counts.get(words) ?? 0) + 1)
  }
  if (counts.size === 1) return [...counts.keys()][0]
  const parts = [...counts].toSorted(([, a], [, b]) => b - a).map(([words, count]) => `${words} (${count})`)
  return parts.length > 0 ? parts.join(', ') : undefined
}

function inWords({ outcome, statusCode }: Answer): string | undefined {
  if (statusCode !== undefined) return `HTTP ${statusCode}`
  return outcome && WORDS[outcome]
}
