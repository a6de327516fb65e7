import type { HttpResponses, HttpRun } from './http.ts'
import type { TimedResponse } from './posts.ts'
import type { Product } from './product.ts'

interface Sends {
  /** The size of the text of each message. */
  bytes: number
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
  { bytes, connections, requests, keys, to = 'b@to.test', fields }: Sends,
): HttpRun {
  return { port, key, path: '/api/v1/emails/send', body: sendBody(bytes, to, fields), connections, requests, keys }
}

/** The JSON of a send with `bytes` of text. */
export function sendBody(bytes: number, to = 'b@to.test', fields = {}): string {
  return JSON.stringify({
    from: 'Bench <bench@example.test>',
    to,
    subject: 'Your order is on its way',
    text: `${'X'.repeat(78)}\r\n`.repeat(bytes / 80),
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
