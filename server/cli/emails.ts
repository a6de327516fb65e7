import { Command } from '@commander-js/extra-typings'
import { examples, type Print } from './command.ts'
import { callApi, urlOption } from './service.ts'

// The fields of the service's response that are printed as text.

interface Outcome {
  status: string
  reason?: string
  in_doubt?: boolean
  smtp?: { mx?: string; code?: number; reply?: string }
}

interface SendResult extends Outcome {
  message_id: string
  sandbox?: boolean
  recipients?: (Outcome & { email: string })[]
}

export const send = (print: Print) =>
  new Command('send')
    .description("Send an email and wait for the verdict of the recipient's server")
    .requiredOption('--from <address>', 'The sender, in a verified domain (required)')
    .requiredOption('--to <address...>', 'A recipient; can be given several times (required)')
    .requiredOption('--subject <text>', 'The subject (required)')
    .option('--text <text>', 'The plain text body')
    .option('--html <html>', 'The HTML body')
    .option('--reply-to <address>', 'The address that replies go to')
    .option('--sandbox', 'Check everything, send nothing')
    .addOption(urlOption())
    .addHelpText(
      'after',
      examples(
        'verdict send --from hello@example.test --to delivered@simulator.test --subject Hello --text "It works."',
        'verdict send --from a@example.com --to b@example.org --subject Hi --text Hi --sandbox --json | jq -r .status',
      ),
    )
    .action(async ({ replyTo: reply_to, sandbox, url, ...email }) => {
      const headers = sandbox ? { 'x-service-sandbox': 'true' } : undefined
      const call = { url, path: '/api/v1/emails/send', body: { ...email, reply_to }, headers }
      const result = (await callApi(call)) as unknown as SendResult
      print({ json: result, text: describe(result), exit: result.status === 'delivered' ? 'ok' : 'failed' })
    })

function describe(result: SendResult): string {
  const dryRun = result.sandbox ? ' (dry run: nothing was sent)' : ''
  const recipients = (result.recipients ?? []).map((recipient) => `\n  ${recipient.email}: ${outcome(recipient)}`)
  return `${result.message_id}: ${outcome(result)}${dryRun}${recipients.join('')}`
}

function outcome({ status, reason, in_doubt, smtp }: Outcome): string {
  const reply = smtp?.reply ? `\n    ${smtp.mx ?? 'the server'} replied ${smtp.code ?? ''} ${smtp.reply}` : ''
  return status + (reason ? `, ${reason}` : '') + (in_doubt ? ' (in doubt: it may have arrived)' : '') + reply
}
