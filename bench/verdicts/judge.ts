import { classify } from '../../mail/smtp/classify.ts'
import { readAs } from '../../mail/smtp/rules.ts'
import { readReport } from '../../server/inbound/report.ts'
import { strikeOfReading } from '../../server/reputation/strikes.ts'
import { type LabelledReply, NAMES } from './labelled.ts'
import type { LabelledReport } from './reports.ts'

/** One labelled thing, as a person reads it and as the service does. */
export interface Judged {
  source: string
  said: string
  want: { verdict: string; strike: string; retryable: boolean }
  got: { verdict: string; strike: string; retryable: boolean; readAs: string }
}

const isRetryable = (verdict: string) => verdict === 'temporary_failure' || verdict === 'connection_timeout'

export function judgeReply({ source, phase, reply, mx, line, reason, strike }: LabelledReply): Judged {
  const { outcome, reading } = classify({ phase, reply, mx, names: NAMES })
  const phrase = reading ? readAs(reading) : ''
  const verdict = outcome.kind === 'bounced' ? outcome.reason : outcome.kind
  return {
    source,
    said: line,
    want: { verdict: reason, strike, retryable: isRetryable(reason) },
    got: {
      verdict,
      strike: strikeOfReading(verdict, phrase) ?? '-',
      retryable: outcome.kind === 'bounced' && outcome.retryable,
      readAs: phrase,
    },
  }
}

export async function judgeReport({ source, verdict, strike, mail, hasSender }: LabelledReport): Promise<Judged> {
  const report = await readReport(Buffer.from(mail), { hasNullSender: !hasSender })
  const [failure] = report?.kind === 'bounce' ? report.failures : []
  const got = report?.kind === 'bounce' ? (failure!.reason ?? 'no reason') : (report?.kind ?? 'none')
  return {
    source,
    said: source,
    want: { verdict, strike, retryable: isRetryable(verdict) },
    got: {
      verdict: got,
      strike: strikeOfReading(got, failure?.readAs) ?? '-',
      retryable: isRetryable(got),
      readAs: failure?.readAs ?? '',
    },
  }
}

export const isRight = ({ want, got }: Judged) => want.verdict === got.verdict
/** It counts against an address that the person would spare, or counts more. */
export const isWrongSuppression = ({ want, got }: Judged) =>
  got.strike !== '-' && got.strike !== want.strike && want.strike !== 'hard'
export const isWrongRetryable = ({ want, got }: Judged) => want.retryable !== got.retryable
export const isNotUnderstood = ({ got }: Judged) => got.verdict === 'unread' || got.readAs === 'us (not understood)'

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
