import { getEmail, importSuppressions, listEvents, sendEmail, sendEmailBatch } from './verdict.ts'

// Sends one email, a batch and an import with a client made by orval, reads them back, and prints the results.

const { VERDICT_API_KEY, FROM: from = '' } = process.env
const options = { headers: { authorization: `Bearer ${VERDICT_API_KEY}` } }

/** The response body of a call that must succeed. */
async function bodyOf<R extends { status: number; data: unknown }>(
  call: Promise<R>,
): Promise<(R & { status: 200 })['data']> {
  const { status, data } = await call
  if (status !== 200) throw new Error(JSON.stringify(data))
  return data
}

const one = { to: 'delivered@simulator.test', from, subject: 'Hello', text: 'It works.' }
const several = { ...one, to: ['mailbox_full@simulator.test', 'delivered@simulator.test'] }
const sent = await bodyOf(sendEmail(one, options))
const batch = await bodyOf(sendEmailBatch({ emails: [several] }, options))
const email = await bodyOf(getEmail(sent.message_id, options))
const events = await bodyOf(listEvents({ message_id: sent.message_id }, options))
const imported = await bodyOf(importSuppressions({ emails: ['orval@example.com'] }, options))
const fault = await getEmail('msg_unknown', options)

console.log(
  JSON.stringify({
    sent: sent.status,
    code: sent.smtp?.code,
    batch: batch.results[0]?.reason,
    subject: email.subject,
    events: events.events.length,
    imported: imported.imported,
    error: fault.status === 404 ? fault.data.error : undefined,
  }),
)
