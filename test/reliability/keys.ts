import type { Book } from './book.ts'
import type { Finding } from './statements.ts'

/** Statement 5. Without a key, every request is one of its own. */
export function* nobodyAcceptsTwice({ logs, messagesOf, dotsFor }: Book): Iterable<Finding> {
  const groups = Map.groupBy(logs.requests, ({ request, key }) =>
    key === undefined ? `request ${request}` : `key ${key}`,
  )
  for (const [group, entries] of groups) {
    const requests = [...new Set(entries.map(({ request }) => request))]
    const messages = requests.flatMap(messagesOf)
    if (messages.length > 1) yield [`two messages of one ${group.split(' ', 1)}`, messages]
    const dots = requests.flatMap(dotsFor)
    const names = dots.flatMap(({ to }) => to)
    if (new Set(names).size < names.length) yield ['the same mail twice to one recipient', dots]
  }
}

/** Statement 16. */
export function* oneAnswerForAKey({ logs }: Book): Iterable<Finding> {
  const answered = logs.requests.filter(({ key, status }) => key !== undefined && status === 200)
  for (const [key, entries] of Map.groupBy(answered, (entry) => entry.key!)) {
    const answers = new Set(entries.map(({ body }) => JSON.stringify(body)))
    if (answers.size > 1) yield ['different answers to one key', { key, answers: [...answers] }]
  }
}
