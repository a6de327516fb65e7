import { IconExternalLink, IconLock, IconLockOff, IconLockQuestion } from '@tabler/icons-react'
import {
  type RecipientOutcome,
  type SmtpEvidence,
  SmtpPhase,
  type TriedHost,
} from '../../gen/verdict/v1/outcomes_pb.ts'
import { CopyButton } from '../copy/copy-button.tsx'
import { breakable } from '../outside-text/breakable.tsx'
import { OutsideText } from '../outside-text/outside-text.tsx'
import { shownOutcome } from '../status/statuses.ts'
import { ReadAs } from '../suppressions/evidence-note.tsx'
import styles from './conversation.module.css'
import { type ConversationStep, conversationSpan, phaseLength, stepsOf } from './conversation-steps.ts'
import { meaningOf } from './status-codes.ts'

/** What was said between us and the recipient's server: each phase on a time axis, and the line that decided. */
export function Conversation({ recipient }: { recipient: RecipientOutcome }) {
  const { smtp, detail, email, inDoubt } = recipient
  return (
    <div className={styles.conversation}>
      {inDoubt && (
        <p className={styles.doubt}>
          The server received the whole message, and its reply to it was lost. The message may or may not have arrived:
          only the recipient can tell.
        </p>
      )}
      {detail && (
        <p>
          <span className="soft">When it was sent:</span> <OutsideText text={detail} />
        </p>
      )}
      {smtp ? (
        <>
          <Server smtp={smtp} />
          {smtp.tried.length > 0 && <Tries tried={smtp.tried} />}
          <PhaseSteps smtp={smtp} recipient={recipient} />
        </>
      ) : (
        !detail && (
          <p className="soft">
            No server was asked about <bdi>{email}</bdi>.
          </p>
        )
      )}
    </div>
  )
}

function Server({ smtp: { mx, ip, tls, phase, reused, transaction } }: { smtp: SmtpEvidence }) {
  if (!mx && !ip) return null
  const reachedServer = phase > SmtpPhase.CONNECT
  return (
    <p className={styles.server}>
      <span>
        <bdi className="mono">{mx ?? ip}</bdi>{' '}
        {mx && ip && mx !== ip && <bdi className={`mono ${styles.ip}`}>{ip}</bdi>}
      </span>
      {reachedServer && <Encryption tls={tls} />}
      {reused && <span>Connection was already open</span>}
      {transaction !== undefined && <span>Transaction {transaction}</span>}
    </p>
  )
}

const VERIFIED_BY: Record<string, string> = {
  dane: ' by DANE',
  'mta-sts': ' as MTA-STS demands',
  pkix: ' by a public authority',
}

function Encryption({ tls }: Pick<SmtpEvidence, 'tls'>) {
  const [Icon, words] = tls
    ? tls.verified
      ? ([IconLock, `${tls.version}, certificate verified${VERIFIED_BY[tls.by ?? ''] ?? ''}`] as const)
      : ([IconLockQuestion, `${tls.version}, certificate not verified`] as const)
    : ([IconLockOff, 'Not encrypted'] as const)
  return (
    <span className={styles.encryption}>
      <Icon size={14} aria-hidden />
      {words}
    </span>
  )
}

/** The servers that were tried and did not decide. */
function Tries({ tried }: { tried: TriedHost[] }) {
  return (
    <div>
      <p className={styles.label}>Also tried</p>
      <ul className={styles.tries}>
        {tried.map(({ mx, ip, detail }, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a host may be tried twice with the same result
          <li key={at}>
            <bdi className="mono">{mx}</bdi>
            {ip && <bdi className={`mono ${styles.ip}`}>{ip}</bdi>}
            <span className="soft">
              <OutsideText text={detail} mono />
            </span>
          </li>
        ))}
      </ul>
    </div>
  )
}

function PhaseSteps({ smtp, recipient }: { smtp: SmtpEvidence; recipient: RecipientOutcome }) {
  const span = conversationSpan(smtp)
  // A rest of a few milliseconds is no step, and then no part of the sum.
  const restMs = span.restMs < 5 ? 0 : span.restMs
  const totalMs = span.totalMs - span.restMs + restMs
  return (
    <ol className={styles.phases}>
      {restMs > 0 && (
        <li className={styles.step}>
          <div className={styles.line}>
            <span className={styles.ours}>Checks, and waiting for a connection</span>
            <Bar startMs={0} durationMs={restMs} totalMs={totalMs} />
            <span className={styles.length}>{phaseLength(restMs)}</span>
          </div>
        </li>
      )}
      {stepsOf(smtp).map((step) => (
        <li key={step.phase} className={styles.step} data-decides={step.decides || undefined}>
          <div className={styles.line}>
            <span className={step.isCommand ? `mono ${styles.ours}` : styles.ours}>
              {step.ours}
              {step.phase === SmtpPhase.RCPT && <bdi>{breakable(` <${recipient.email}>`)}</bdi>}
            </span>
            <Bar startMs={restMs + step.startMs} durationMs={step.durationMs} totalMs={totalMs} />
            <span className={styles.length}>{step.durationMs !== undefined && phaseLength(step.durationMs)}</span>
          </div>
          {step.decides && <Deciding smtp={smtp} recipient={recipient} />}
        </li>
      ))}
      <li className={styles.step}>
        <div className={`${styles.line} ${styles.total}`}>
          <span>Total</span>
          <span />
          <span className={styles.length}>{phaseLength(totalMs)}</span>
        </div>
      </li>
    </ol>
  )
}

interface BarProps extends Pick<ConversationStep, 'startMs' | 'durationMs'> {
  totalMs: number
}

function Bar({ startMs, durationMs = 0, totalMs }: BarProps) {
  const percent = (ms: number) => `${totalMs > 0 ? (ms / totalMs) * 100 : 0}%`
  return (
    <span className={styles.axis} aria-hidden>
      <span className={styles.bar} style={{ left: percent(startMs), width: percent(durationMs) }} />
    </span>
  )
}

/** The server's own words, or why there are none, and what they mean. */
function Deciding({ smtp, recipient }: { smtp: SmtpEvidence; recipient: RecipientOutcome }) {
  const { code, enhanced, reply, detail, readAs } = smtp
  const { tone } = shownOutcome(recipient.status, recipient.inDoubt)
  const words = [code, enhanced, reply].filter((part) => part !== undefined && part !== '').join(' ')
  const meaning = recipient.inDoubt ? undefined : meaningOf(code, enhanced)
  return (
    <div className={styles.deciding} data-tone={tone}>
      {words !== '' && (
        <div className={styles.words}>
          <div className={styles.reply}>
            <OutsideText text={words} mono />
          </div>
          <CopyButton text={words} label="reply" />
        </div>
      )}
      {words === '' && !detail && <p>There was no reply.</p>}
      {detail && (
        <div className={styles.words}>
          <div className={styles.reply}>
            {words === '' && 'There was no reply: '}
            <OutsideText text={detail} mono />
          </div>
          <CopyButton text={detail} label="detail" />
        </div>
      )}
      {readAs && (
        <p className={styles.meaning}>
          <ReadAs {...smtp} readAs={readAs} />
        </p>
      )}
      {meaning && (
        <p className={styles.meaning}>
          <code>{meaning.code}</code> {meaning.meaning}{' '}
          <a href={meaning.url} target="_blank" rel="noreferrer" className="text-link">
            {meaning.source}
            <IconExternalLink size={12} aria-label="opens another site" />
          </a>
        </p>
      )}
    </div>
  )
}
