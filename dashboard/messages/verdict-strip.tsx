import type { Timestamp } from '@bufbuild/protobuf/wkt'
import type { ReactNode } from 'react'
import type { GetEmailResponse } from '../../gen/verdict/v1/emails_pb.ts'
import { FeedbackKind } from '../../gen/verdict/v1/outcomes_pb.ts'
import { shownOutcome, type Tone } from '../status/statuses.ts'
import { Moment } from '../time/ago.tsx'
import { msOf } from '../time/ms-of.ts'
import { lengthOf } from '../time/times.ts'
import styles from './message.module.css'

interface TimedReport {
  feedback: FeedbackKind
  timestamp?: Timestamp
}

interface StripProps {
  email: GetEmailResponse
  /** The newest first. */
  reports: readonly TimedReport[]
}

const REPORTED: Partial<Record<FeedbackKind, [word: string, tone: Tone]>> = {
  [FeedbackKind.LATE_BOUNCE]: ['Came back', 'bounced'],
  [FeedbackKind.COMPLAINT]: ['Complained about', 'error'],
}

/** What happened when: the message was asked for, its servers answered, and reports came, the newest of each kind. */
export function VerdictStrip({ email, reports }: StripProps) {
  const { createdAt, completedAt, status, inDoubt, recipients } = email
  const isAnswered = recipients.some(({ smtp }) => smtp?.code !== undefined)
  const [askedMs, answeredMs] = [msOf(createdAt), msOf(completedAt)]
  const newest = [...Map.groupBy(reports, ({ feedback }) => feedback).values()].flatMap(([report]) => report ?? [])
  return (
    <ol className={styles.strip} aria-label="What happened when">
      <StripStep word="Asked" tone="neutral" at={createdAt} />
      <StripStep word={isAnswered ? 'Answered' : 'Ended'} tone={shownOutcome(status, inDoubt).tone} at={completedAt}>
        after {lengthOf(answeredMs - askedMs)}
      </StripStep>
      {newest.toReversed().map(({ feedback, timestamp }) => {
        const [word, tone] = REPORTED[feedback] ?? ['Reported', 'neutral']
        return (
          <StripStep key={feedback} word={word} tone={tone} at={timestamp}>
            {lengthOf(Math.max(0, msOf(timestamp) - answeredMs))} later
          </StripStep>
        )
      })}
    </ol>
  )
}

interface StripStepProps {
  word: string
  tone: Tone
  at: Timestamp | undefined
  children?: ReactNode
}

function StripStep({ word, tone, at, children }: StripStepProps) {
  return (
    <li data-tone={tone}>
      <strong>{word}</strong>
      <Moment at={at} />
      {children && <span>{children}</span>}
    </li>
  )
}
