import { type Answer, command } from './command.ts'
import { callApi, urlOption } from './service.ts'

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

function describe(sent: Sent): string {
  const dryRun = sent.sandbox ? ' (dry run: nothing was sent)' : ''
  const recipients = (sent.recipients ?? []).map((recipient) => `\n  ${recipient.email}: ${outcome(recipient)}`)
  return `${sent.message_id}: ${outcome(sent)}${dryRun}${recipients.join('')}`
}

function outcome({ status, reason, in_doubt, smtp }: Outcome): string {
  const said = smtp?.reply ? `\n    ${smtp.mx ?? 'the server'} said ${smtp.code ?? ''} ${smtp.reply}` : ''
  return status + (reason ? `, ${reason}` : '') + (in_doubt ? ' (in doubt: it may have arrived)' : '') + said
}
