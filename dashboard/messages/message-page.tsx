import { useQuery } from '@connectrpc/connect-query'
import { Link, useParams } from '@tanstack/react-router'
import { EmailService, type GetEmailResponse } from '../../gen/verdict/v1/emails_pb.ts'
import { DeliveryStatus, FeedbackKind } from '../../gen/verdict/v1/outcomes_pb.ts'
import { useAccount } from '../account/account.ts'
import { CopyButton } from '../copy/copy-button.tsx'
import { ShortId } from '../copy/short-id.tsx'
import { ErrorState } from '../feedback/error-state.tsx'
import { Page } from '../frame/page.tsx'
import { breakable } from '../outside-text/breakable.tsx'
import { OutsideText } from '../outside-text/outside-text.tsx'
import { reasonCode } from '../status/reasons.ts'
import { ReportPill } from '../status/report-pill.tsx'
import { StatusPill } from '../status/status-pill.tsx'
import { Ago } from '../time/ago.tsx'
import { LaterMessage } from './later-message.tsx'
import styles from './message.module.css'
import { MessageEvents } from './message-events.tsx'
import { MessageFacts } from './message-facts.tsx'
import { MessagePreview } from './message-preview.tsx'
import { MessageSkeleton } from './message-skeleton.tsx'
import { Neighbours } from './neighbours.tsx'
import { RecipientList } from './recipients.tsx'
import { SendAgain } from './send-again.tsx'
import { piecesOf, sentenceOfMessage, sentenceOfReports } from './sentences.ts'
import { useMessageEvents } from './use-message-events.ts'
import { VerdictStrip } from './verdict-strip.tsx'

/** One message: what happened, in a sentence; the evidence for it; and what its endpoint was told. */
export function MessagePage() {
  const { message: id } = useParams({ from: '/$account/messages/$message' })
  // An outcome never changes. Reports that come later are events, which have their own list.
  const email = useQuery(EmailService.method.getEmail, { id }, { staleTime: 60_000 })
  if (email.data) return <MessageView email={email.data} key={id} />
  return (
    <Page title="Message" above={<Neighbours messageId={id} />}>
      {email.error ? <ErrorState error={email.error} retry={() => void email.refetch()} /> : <MessageSkeleton />}
    </Page>
  )
}

function MessageView({ email }: { email: GetEmailResponse }) {
  return (
    <Page
      title={email.subject}
      heading={<OutsideText text={email.subject} line />}
      above={<Neighbours messageId={email.messageId} />}
    >
      <VerdictSection email={email} />
      <div className={styles.columns}>
        <div className={styles.main}>
          <RecipientList email={email} />
          <MessageEvents email={email} />
          {email.html !== undefined && <MessagePreview messageId={email.messageId} />}
        </div>
        <MessageFacts email={email} />
      </div>
    </Page>
  )
}

/** The sentence on top, with its details. */
function VerdictSection({ email }: { email: GetEmailResponse }) {
  const { messageId, status, reason, inDoubt, sandbox, recipients, completedAt } = email
  const { sentence, about } = sentenceOfMessage(recipients, sandbox)
  const code = reason === undefined ? undefined : reasonCode(reason)
  const reports = useReports(messageId)
  const isReported = reports.length > 0
  const isMissed = isReported || status !== DeliveryStatus.DELIVERED
  const missed = reports[0]?.email ?? about.email
  return (
    <section className={styles.verdict} aria-label="Outcome">
      <LaterReports reports={reports} />
      <div className={styles.verdictHead}>
        <StatusPill status={status} inDoubt={inDoubt} large={!isReported} />
        {sandbox && <span className={styles.dryRun}>Dry run</span>}
        <span className="soft">
          <Ago at={completedAt} />
        </span>
      </div>
      <p className={isReported ? undefined : styles.sentence}>
        <Pieces text={capital(sentence.what)} email={about.email} />
      </p>
      {sentence.advice && !isReported && (
        <p className="soft">
          <Pieces text={sentence.advice} email={about.email} />
        </p>
      )}
      <VerdictStrip email={email} reports={reports} />
      {isMissed && email.retriedBy.length === 0 && <LaterMessage email={email} recipient={missed} />}
      <SendAgain email={email} />
      <div className={styles.ids}>
        <ShortId id={messageId} label="message id" whole />
        {code && (
          <span className={styles.code}>
            <code>{code}</code>
            <CopyButton text={code} label="reason" />
          </span>
        )}
      </div>
    </section>
  )
}

/** The lists of all reports of a kind. */
const ALL_OF: Partial<Record<FeedbackKind, { filter: string; words: string }>> = {
  [FeedbackKind.COMPLAINT]: { filter: 'complaint', words: 'All complaints' },
  [FeedbackKind.LATE_BOUNCE]: { filter: 'late_bounce', words: 'All late bounces' },
}

/** What was reported after the outcome, the newest first. */
function useReports(messageId: string) {
  const { data } = useMessageEvents(messageId)
  return (data?.events ?? []).flatMap((event) =>
    event.feedback === undefined ? [] : [{ ...event, email: event.recipient, feedback: event.feedback }],
  )
}

/** A delivered message can still come back, or lead to a complaint: the newest fact leads the page. */
function LaterReports({ reports }: { reports: ReturnType<typeof useReports> }) {
  const { membership } = useAccount()
  const [latest] = reports
  const found = sentenceOfReports(reports)
  if (!latest || !found) return null
  const { sentence, about } = found
  const all = ALL_OF[latest.feedback]
  return (
    <>
      <div className={styles.verdictHead}>
        <ReportPill kind={latest.feedback} member={latest.member} large />
        <span className="soft">
          <Ago at={latest.timestamp} />
        </span>
      </div>
      <p className={styles.sentence}>
        <Pieces text={capital(sentence.what)} email={about.email} />
      </p>
      {latest.detail && (
        <p className={styles.reported}>
          <OutsideText text={latest.detail} mono />
        </p>
      )}
      {sentence.advice && <p className="soft">{sentence.advice}</p>}
      {all && (
        <Link
          to="/$account/events"
          params={{ account: membership.accountId }}
          search={{ feedback: all.filter }}
          className="text-link"
        >
          {all.words}
        </Link>
      )}
    </>
  )
}

function Pieces({ text, email }: { text: string; email: string }) {
  return piecesOf(text, email).map((piece, at) =>
    // biome-ignore lint/suspicious/noArrayIndexKey: a sentence's pieces have no other identity
    piece.isOutside ? <bdi key={at}>{breakable(piece.text)}</bdi> : piece.text,
  )
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)
