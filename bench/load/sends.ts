import type { HttpResponses, HttpRun } from './http.ts'
import type { TimedResponse } from './posts.ts'
import type { Product } from './product.ts'

/** The text of every message: 4,000 octets, in lines like those of Postfix's `smtp-source`. */
export const TEXT = `${'X'.repeat(78)}\r\n`.repeat(50)

interface Sends {
  connections: number
  requests: number
  keys?: HttpRun['keys']
  /** Defaults to `b@to.test`. */
  to?: string
  /** Further fields of each message. */
  fields?: object
}

/** The HTTP run that sends plain text to the sink. */
export function sendRun(
  { port, key }: Product,
  { connections, requests, keys, to = 'b@to.test', fields }: Sends,
): HttpRun {
  return { port, key, path: '/api/v1/emails/send', body: sendBody(to, fields), connections, requests, keys }
}

/** The JSON of a send. */
export function sendBody(to = 'b@to.test', fields = {}): string {
  return JSON.stringify({
    from: 'Bench <bench@example.test>',
    to,
    subject: 'Your order is on its way',
    text: TEXT,
    ...fields,
  })
}

/** Throws unless every message was delivered: a bench of failures measures nothing. */
export function expectDelivered(responses: HttpResponses): HttpResponses {
  const outcomes = Object.keys(responses.counts)
  if (outcomes.join() !== '200 delivered')
    throw new Error(`Not everything was delivered: ${JSON.stringify(responses.counts)}`)
  return responses
}

export const isDelivered = ({ status, body }: TimedResponse) =>
  status === 200 && JSON.parse(body).status === 'delivered'
