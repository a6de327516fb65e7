import { type Book, isRefused } from './book.ts'
import type { Finding } from './statements.ts'

/** Statement 5. A request without a key is its own group. Whom a refused dot was for may be asked again, alone. */
export function* noRecipientAcceptsTwice({ logs, messagesOf, dotsFor }: Book): Iterable<Finding> {
  const groups = Map.groupBy(logs.requests, ({ request, key }) =>
    key === undefined ? `request ${request}` : `key ${key}`,
  )
  for (const [group, entries] of groups) {
    const requests = [...new Set(entries.map(({ request }) => request))]
    const messages = requests.flatMap(messagesOf)
    if (messages.length > 1) yield [`two messages of one ${group.split(' ', 1)}`, messages]
    const dots = requests.flatMap(dotsFor)
    const recipients = dots.filter((dot) => !isRefused(dot)).flatMap(({ to }) => to)
    if (new Set(recipients).size < recipients.length) yield ['one recipient got the same mail twice', dots]
  }
}

/** Statement 16. */
export function* oneResponsePerKey({ logs }: Book): Iterable<Finding> {
  const successes = logs.requests.filter(({ key, status }) => key !== undefined && status === 200)
  for (const [key, entries] of Map.groupBy(successes, (entry) => entry.key!)) {
    const bodies = new Set(entries.map(({ body }) => JSON.stringify(body)))
    if (bodies.size > 1) yield ['different responses to one key', { key, bodies: [...bodies] }]
  }
}
