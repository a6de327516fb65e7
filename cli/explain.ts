import { Option } from '@commander-js/extra-typings'
import type { Kind, ReplyReading } from '../mail/smtp/attempt.ts'
import { classify } from '../mail/smtp/classify.ts'
import { toReply } from '../mail/smtp/reply.ts'
import { readAs } from '../mail/smtp/rules.ts'
import { command, Failure, type Print } from './command.ts'

export const PHASES = ['greeting', 'ehlo', 'mail', 'rcpt', 'data', 'dot', 'late'] as const
const REPLY = /^([2-5]\d\d)(?:[ -](.*))?$/s

export const explain = (print: Print) =>
  command(
    'explain',
    'verdict explain "550 5.1.1 User unknown"',
    'verdict explain "554 5.7.1 Message rejected as spam" --phase dot',
  )
    .summary("Say how a mail server's reply is read")
    .description(
      'Say how a reply is read, given with its codes: the outcome, what the reply speaks of, and the rule that decided.',
    )
    .argument('<reply>')
    .addOption(
      new Option(
        '--phase <phase>',
        'What it answers: the greeting or a command, the final dot, or nothing (a late bounce)',
      )
        .choices(PHASES)
        .default('rcpt' as const),
    )
    .option('--mx <host>', 'The name of the server')
    .option('--to <address>', 'The recipient')
    .option('--ours <name...>', 'Names that the server may have for the sender: HELO name, addresses, domains')
    .action((text, { phase, mx = '', to, ours }) => {
      const explanation = explanationOf(text, { phase, mx, recipient: to, ours })
      print({ json: explanation, text: textOf(explanation) })
    })

interface Placed {
  phase: (typeof PHASES)[number]
  mx: string
  recipient?: string
  ours?: string[]
}

interface Explanation {
  state: string
  reason?: string
  retryable?: boolean
  read_as?: string
  kind?: string
  decided_by?: string
  words?: string
  suppresses?: string
}

/** Says how a reply is read. Throws a Failure when the text is no reply. */
export function explanationOf(text: string, { phase, mx, recipient, ours }: Placed): Explanation {
  const [, code, words = ''] = REPLY.exec(text.trim()) ?? []
  if (code === undefined)
    throw new Failure('usage', 'reply: begins with no code. Write it as the server did: "550 5.1.1 no"')
  const lines = words.split(new RegExp(`\\r?\\n| (?=${code}[ -])`)).map((line) => line.replace(/^[2-5]\d\d[ -]/, ''))
  const reply = toReply({ kind: 'reply', code: Number(code), lines })
  const { outcome, reading } = classify({ phase, reply, mx, names: { recipient, ours } })
  if (outcome.kind !== 'bounced') return { state: outcome.kind }
  const { reason, retryable } = outcome
  return {
    state: 'bounced',
    reason,
    retryable,
    ...(reading && evidenceOf(reading)),
    suppresses: reading?.kind ? SUPPRESSES[reading.kind] : 'never',
  }
}

function evidenceOf({ subject, row, kind, decidedBy, words }: ReplyReading) {
  return { read_as: readAs({ subject, row }), kind, decided_by: decidedBy, words }
}

/** The rules of incidents.ts in words. */
const SUPPRESSES: Record<Kind, string> = {
  unknown: 'at once; an address that took mail in the last 90 days for 7 days, and for good at its next incident',
  status: 'at its second incident within 30 days, for 30 days',
  refused: 'at its second incident within 30 days, for 30 days',
  full: 'at its third incident within 30 days, for 7 days',
}

function textOf({ state, reason, retryable, suppresses, ...evidence }: Explanation): string {
  const outcome = [state, reason].filter((word) => word).join('/') + (retryable ? ' (you may send it again)' : '')
  const { read_as, kind, decided_by, words } = evidence
  if (read_as === undefined) return outcome
  return [
    outcome,
    `read as: about ${read_as}`,
    kind === undefined ? undefined : `kind: ${kind}`,
    `decided by: ${words === undefined ? `its ${decided_by}` : `its words "${words}"`}`,
    `suppresses the address: ${suppresses}`,
  ]
    .filter((line) => line !== undefined)
    .join('\n')
}
