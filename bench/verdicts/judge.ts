import { classify } from '../../mail/smtp/classify.ts'
import { readAs } from '../../mail/smtp/rules.ts'
import { readReport } from '../../server/inbound/report.ts'
import { type LabelledReply, NAMES } from './labelled.ts'
import type { LabelledReport } from './reports.ts'

/** One labelled thing, as a person reads it and as the service does. */
export interface Judged {
  source: string
  said: string
  want: { verdict: string; kind: string; retryable: boolean }
  got: { verdict: string; kind: string; retryable: boolean; readAs: string }
}

const isRetryable = (verdict: string) => verdict === 'temporary_failure' || verdict === 'connection_timeout'

export function judgeReply({ source, phase, reply, mx, line, reason, kind }: LabelledReply): Judged {
  const { outcome, reading } = classify({ phase, reply, mx, names: NAMES })
  const phrase = reading ? readAs(reading) : ''
  const verdict = outcome.kind === 'bounced' ? outcome.reason : outcome.kind
  return {
    source,
    said: line,
    want: { verdict: reason, kind, retryable: isRetryable(reason) },
    got: {
      verdict,
      kind: reading?.kind ?? '-',
      retryable: outcome.kind === 'bounced' && outcome.retryable,
      readAs: phrase,
    },
  }
}

export async function judgeReport({ source, verdict, kind, mail, hasSender }: LabelledReport): Promise<Judged> {
  const report = await readReport(Buffer.from(mail), { hasNullSender: !hasSender })
  const [failure] = report.kind === 'bounce' ? report.failures : []
  const got = report.kind === 'bounce' ? (failure!.reason ?? 'no reason') : report.kind
  return {
    source,
    said: source,
    want: { verdict, kind, retryable: isRetryable(verdict) },
    got: {
      verdict: got,
      kind: failure?.kind ?? '-',
      retryable: isRetryable(got),
      readAs: failure?.readAs ?? '',
    },
  }
}

export const isRight = ({ want, got }: Judged) => want.verdict === got.verdict
/** From one that says nothing of the address to the one that suppresses it at once. */
const KINDS = ['-', 'full', 'refused', 'status', 'unknown']
/** It counts more against the address than a person would count it. */
export const isWrongSuppression = ({ want, got }: Judged) => KINDS.indexOf(got.kind) > KINDS.indexOf(want.kind)
/** It counts less. */
export const isMissed = ({ want, got }: Judged) => KINDS.indexOf(got.kind) < KINDS.indexOf(want.kind)
export const isWrongRetryable = ({ want, got }: Judged) => want.retryable !== got.retryable
export const isNotUnderstood = ({ got }: Judged) => got.verdict === 'unread' || got.readAs === 'sender (not understood)'

/** How often each verdict of a person (rows) was read as each verdict (columns), as a Markdown table. */
export function confusionMatrix(judged: readonly Judged[]): string {
  const verdicts = [...new Set(judged.flatMap(({ want, got }) => [want.verdict, got.verdict]))].sort()
  const count = (want: string, got: string) =>
    judged.filter((each) => each.want.verdict === want && each.got.verdict === got).length
  const rows = verdicts.map((want) => [`\`${want}\``, ...verdicts.map((got) => String(count(want, got) || ''))])
  const heading = ['labelled', ...verdicts.map((verdict) => `\`${verdict}\``)]
  const widths = heading.map((_, i) => Math.max(...[heading, ...rows].map((row) => row[i]!.length)))
  const line = (cells: string[]) => `| ${widths.map((width, i) => cells[i]!.padEnd(width)).join(' | ')} |`
  return [line(heading), `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...rows.map(line)].join('\n')
}
