import { useQuery } from '@connectrpc/connect-query'
import { IconCircle, IconCircleCheckFilled } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { type GetSetUpResponse, OverviewService } from '../../gen/verdict/admin/v1/overview_pb.ts'
import { useAccount } from '../account/account.ts'
import { FirstSend } from './first-send.tsx'
import styles from './overview.module.css'

/** How often a step is looked at again, so that it turns green by itself. */
const LOOK_MS = 3_000

const isDone = (setUp: GetSetUpResponse) =>
  [setUp.verifiedDomain, setUp.hasKey, setUp.firstMessageId, setUp.webhookUrl].every(Boolean)

/** The steps of the set-up until all are done. Each shows its command, or does it. */
export function FirstSteps() {
  const { data: setUp } = useQuery(
    OverviewService.method.getSetUp,
    {},
    { refetchInterval: ({ state }) => (state.data && isDone(state.data) ? false : LOOK_MS) },
  )
  if (!setUp || isDone(setUp)) return null
  const { verifiedDomain, hasKey, firstMessageId, webhookUrl } = setUp
  return (
    <section className={styles.steps} aria-label="First steps">
      <h2>First steps</h2>
      <ol>
        <Todo title="Verify a domain to send from" done={verifiedDomain && <To page="domains">See your domains</To>}>
          <To page="domains">Add a domain</To>
        </Todo>
        <Todo title="Create an API key" done={hasKey && <To page="settings/keys">See your keys</To>}>
          <To page="settings/keys">Create a key</To>
        </Todo>
        <Todo title="Send a first email" done={firstMessageId && <ToMessage message={firstMessageId} />}>
          <FirstSend domain={verifiedDomain} />
        </Todo>
        <Todo title="Set a webhook endpoint" done={webhookUrl && <To page="settings/webhook">See the endpoint</To>}>
          <To page="settings/webhook">Set the endpoint</To>
        </Todo>
      </ol>
    </section>
  )
}

interface StepProps {
  title: string
  /** Where to see what a finished step has made; nothing before. */
  done: ReactNode
  children: ReactNode
}

function Todo({ title, done, children }: StepProps) {
  const Icon = done ? IconCircleCheckFilled : IconCircle
  return (
    <li className={styles.step} data-done={done ? true : undefined}>
      <Icon size={20} aria-hidden />
      <div className={styles.stepTitle}>
        <strong>
          {title}
          {done && ': done'}
        </strong>
        {done}
      </div>
      {!done && <div className={styles.stepBody}>{children}</div>}
    </li>
  )
}

type StepPage = 'domains' | 'settings/keys' | 'settings/webhook'

function To({ page, children }: { page: StepPage; children: ReactNode }) {
  const { membership } = useAccount()
  return (
    <Link to={`/$account/${page}`} params={{ account: membership.accountId }} className="text-link">
      {children}
    </Link>
  )
}

function ToMessage({ message }: { message: string }) {
  const { membership } = useAccount()
  return (
    <Link to="/$account/messages/$message" params={{ account: membership.accountId, message }} className="text-link">
      See the email
    </Link>
  )
}
