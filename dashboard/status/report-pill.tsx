import { FeedbackKind } from '../../gen/verdict/v1/outcomes_pb.ts'
import { comparable } from '../outside-text/comparable.ts'
import { Pill } from './status-pill.tsx'

interface ReportPillProps {
  kind: FeedbackKind
  /** Another mailbox failed than that of the recipient. */
  member?: boolean
  large?: boolean
}

/** What was reported after the outcome, which it never changes. */
export function ReportPill({ kind, member, large }: ReportPillProps) {
  if (kind === FeedbackKind.COMPLAINT) return <Pill tone="error" word="Complaint" large={large} />
  if (kind !== FeedbackKind.LATE_BOUNCE) return <Pill tone="neutral" word="Report" large={large} />
  if (member) return <Pill tone="neutral" word="A copy came back" large={large} />
  return <Pill tone="bounced" word="Came back" large={large} />
}

interface ReportPillsProps {
  reports: readonly { kind: FeedbackKind; member?: boolean; recipient: string }[]
  recipient: string
}

/** What was reported about one recipient. */
export function ReportPills({ reports, recipient }: ReportPillsProps) {
  return reports
    .filter((report) => comparable(report.recipient) === comparable(recipient))
    .map(({ kind, member }) => <ReportPill key={`${kind} ${member}`} kind={kind} member={member} />)
}
