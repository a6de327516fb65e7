import createClient from 'openapi-fetch'
import type { paths } from './verdict.ts'

// Sends one email, a batch and an import with types made by openapi-typescript, reads them back, and prints the
// results.

const { VERDICT_URL: baseUrl, VERDICT_API_KEY, FROM: from = '' } = process.env
const client = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${VERDICT_API_KEY}` } })

/** The response body of a call that must succeed. */
async function bodyOf<T>(call: Promise<{ data?: T; error?: unknown }>): Promise<T> {
  const { data, error } = await call
  if (data === undefined) throw new Error(JSON.stringify(error))
  return data
}

const one = { to: 'delivered@simulator.test', from, subject: 'Hello', text: 'It works.' }
const several = { ...one, to: ['mailbox_full@simulator.test', 'delivered@simulator.test'] }
const sent = await bodyOf(client.POST('/api/v1/emails/send', { body: one }))
const batch = await bodyOf(client.POST('/api/v1/emails/batch', { body: { emails: [several] } }))
const path = { id: sent.message_id }
const email = await bodyOf(client.GET('/api/v1/emails/{id}', { params: { path } }))
const query = { message_id: sent.message_id }
const events = await bodyOf(client.GET('/api/v1/events', { params: { query } }))
const list = { emails: ['typescript@example.com'] }
const imported = await bodyOf(client.POST('/api/v1/suppression/import', { body: list }))
const { error: fault } = await client.GET('/api/v1/emails/{id}', { params: { path: { id: 'msg_unknown' } } })

console.log(
  JSON.stringify({
    sent: sent.status,
    code: sent.smtp?.code,
    batch: batch.results[0]?.reason,
    subject: email.subject,
    events: events.events.length,
    imported: imported.imported,
    error: fault?.error,
  }),
)
