import { type Answer, command } from './command.ts'
import { callApi, urlOption } from './service.ts'
import { table } from './table.ts'

// What the service answers, as far as it is printed for people.

interface Outcome {
  status: string
  reason?: string
  in_doubt?: boolean
  smtp?: { mx?: string; code?: number; reply?: string }
}

interface Sent extends Outcome {
  message_id: string
  sandbox?: boolean
  recipients?: (Outcome & { email: string })[]
}

interface StoredEvent {
  event_id: string
  message_id: string
  status: string
  reason?: string
  recipient: string
  timestamp: string
}

export const send = command({
  summary: "Send an email and wait for the verdict of the recipient's server.",
  options: {
    from: { type: 'string', required: true, value: 'address', help: 'the sender, in a verified domain' },
    to: {
      type: 'string',
      required: true,
      multiple: true,
      value: 'address',
      help: 'a recipient; may be given several times',
    },
    subject: { type: 'string', required: true, value: 'text', help: 'the subject' },
    text: { type: 'string', value: 'text', help: 'the plain text body' },
    html: { type: 'string', value: 'html', help: 'the HTML body' },
    'reply-to': { type: 'string', value: 'address', help: 'where answers go' },
    sandbox: { type: 'boolean', help: 'check everything and send nothing' },
    url: urlOption,
  },
  examples: [
    'verdict send --from hello@example.test --to delivered@simulator.test --subject Hello --text "It works."',
    'verdict send --from a@example.com --to b@example.org --subject Hi --text Hi --sandbox --json | jq -r .status',
  ],
  async run({ from, to, subject, text, html, 'reply-to': reply_to, sandbox, url }) {
    const body = { from, to, subject, text, html, reply_to }
    const headers = sandbox ? { 'x-service-sandbox': 'true' } : undefined
    const sent = (await callApi({ url, path: '/api/v1/emails/send', body, headers })) as unknown as Sent
    return { json: sent, text: describe(sent), exit: sent.status === 'delivered' ? 'ok' : 'failed' } satisfies Answer
  },
})

export const events = command({
  summary: 'List delivery events, newest first.',
  options: {
    message: { type: 'string', value: 'message_id', help: 'events of this message' },
    status: { type: 'string', value: 'status', help: 'delivered, bounced or rejected' },
    reason: { type: 'string', value: 'reason', help: 'such as mailbox_full' },
    recipient: { type: 'string', value: 'address', help: 'events of this recipient' },
    limit: { type: 'string', value: 'number', help: 'how many at the most, 1 to 100; 50 when left out' },
    cursor: { type: 'string', value: 'cursor', help: 'the next_cursor of the page before' },
    url: urlOption,
  },
  examples: ['verdict events --status bounced', 'verdict events --message msg_01jv3k8m5nfq0s2x7w9y4z6t1c --json'],
  async run({ message, status, reason, recipient, limit, cursor, url }) {
    const filters = Object.entries({ message_id: message, status, reason, recipient, limit, cursor })
    const given = filters.filter((filter): filter is [string, string] => filter[1] !== undefined)
    const page = await callApi({ url, path: `/api/v1/events?${new URLSearchParams(given)}` })
    const rows = (page.events as StoredEvent[]).map((event) => {
      return [event.timestamp, event.status, event.reason ?? '-', event.recipient, event.message_id, event.event_id]
    })
    const found = table(['TIME', 'STATUS', 'REASON', 'RECIPIENT', 'MESSAGE', 'EVENT'], rows, 'No such event.')
    return { json: page, text: page.has_more ? `${found}\n\nMore: --cursor ${page.next_cursor}` : found }
  },
})

function describe(sent: Sent): string {
  const dryRun = sent.sandbox ? ' (dry run: nothing was sent)' : ''
  const recipients = (sent.recipients ?? []).map((recipient) => `\n  ${recipient.email}: ${outcome(recipient)}`)
  return `${sent.message_id}: ${outcome(sent)}${dryRun}${recipients.join('')}`
}

function outcome({ status, reason, in_doubt, smtp }: Outcome): string {
  const said = smtp?.reply ? `\n    ${smtp.mx ?? 'the server'} said ${smtp.code ?? ''} ${smtp.reply}` : ''
  return status + (reason ? `, ${reason}` : '') + (in_doubt ? ' (in doubt: it may have arrived)' : '') + said
}
