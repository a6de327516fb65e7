import type { HttpAnswers, HttpRun } from './http.ts'
import type { Answered } from './posts.ts'
import type { Product } from './product.ts'

interface Sends {
  /** Of text in each message. */
  bytes: number
  connections: number
  requests: number
  keys?: HttpRun['keys']
  /** `b@to.test` when absent. */
  to?: string
}

/** Sends of plain text to the sink. */
export function sendRun(
  { port, key }: Product,
  { bytes, connections, requests, keys, to = 'b@to.test' }: Sends,
): HttpRun {
  return { port, key, path: '/api/v1/emails/send', body: sendBody(bytes, to), connections, requests, keys }
}

/** JSON of a send with so many bytes of text. */
export function sendBody(bytes: number, to = 'b@to.test'): string {
  return JSON.stringify({
    from: 'Bench <bench@example.test>',
    to,
    subject: 'Your order is on its way',
    text: `${'X'.repeat(78)}\r\n`.repeat(bytes / 80),
  })
}

/** Throws when anything else came back: a bench of failures measures nothing. */
export function expectDelivered(answers: HttpAnswers): HttpAnswers {
  const words = Object.keys(answers.counts)
  if (words.join() !== '200 delivered')
    throw new Error(`Not everything was delivered: ${JSON.stringify(answers.counts)}`)
  return answers
}

export const isDelivered = ({ status, body }: Answered) => status === 200 && JSON.parse(body).status === 'delivered'
