import { useMutation, useQuery } from '@connectrpc/connect-query'
import { Button } from '@mantine/core'
import { IconCircle, IconCircleCheckFilled } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { Role } from '../../gen/verdict/admin/v1/options_pb.ts'
import { type GetSetUpResponse, OverviewService } from '../../gen/verdict/admin/v1/overview_pb.ts'
import { EmailService } from '../../gen/verdict/v1/emails_pb.ts'
import { useAccount, useMay } from '../account/account.ts'
import { CodeBlock } from '../copy/code-block.tsx'
import { CallFault } from '../feedback/error-state.tsx'
import { StatusPill } from '../status/status-pill.tsx'
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
  return (
    <section className={styles.steps} aria-label="First steps">
      <h2>First steps</h2>
      <ol>
        <Step title="Verify a domain to send from" done={setUp.verifiedDomain !== undefined}>
          <To page="domains">Add a domain</To>
        </Step>
        <Step title="Create an API key" done={setUp.hasKey}>
          <To page="settings/keys">Create a key</To>
        </Step>
        <Step title="Send a first email" done={setUp.firstMessageId !== undefined}>
          <FirstSend domain={setUp.verifiedDomain} />
        </Step>
        <Step title="Set a webhook endpoint" done={setUp.webhookUrl !== undefined}>
          <To page="settings/webhook">Set the endpoint</To>
        </Step>
      </ol>
    </section>
  )
}

function Step({ title, done, children }: { title: string; done: boolean; children: ReactNode }) {
  const Icon = done ? IconCircleCheckFilled : IconCircle
  return (
    <li className={styles.step} data-done={done || undefined}>
      <Icon size={20} aria-hidden />
      <strong>
        {title}
        {done && ': done'}
      </strong>
      {!done && <div className={styles.stepBody}>{children}</div>}
    </li>
  )
}

function To({ page, children }: { page: 'domains' | 'settings/keys' | 'settings/webhook'; children: ReactNode }) {
  const { membership } = useAccount()
  return (
    <Link to={`/$account/${page}`} params={{ account: membership.accountId }} className="text-link">
      {children}
    </Link>
  )
}

/** A simulated mailbox, so nothing leaves the machine. */
const MAILBOX = 'delivered@simulator.test'

function FirstSend({ domain = 'example.com' }: { domain?: string }) {
  const { person } = useAccount()
  const mayMember = useMay(Role.MEMBER)
  const queries = useQueryClient()
  const email = { from: `hello@${domain}`, to: [MAILBOX], subject: 'Hello', text: 'It works.' }
  const send = useMutation(EmailService.method.send, { onSuccess: () => void queries.invalidateQueries() })
  return (
    <>
      <CodeBlock code={curlOf(person.installation!.publicUrl, email)} label="Command" />
      {mayMember && (
        <div className={styles.stepActions}>
          <Button variant="default" size="xs" loading={send.isPending} onClick={() => send.mutate(email)}>
            Send it from here
          </Button>
          {send.data && <StatusPill status={send.data.status} />}
        </div>
      )}
      <CallFault error={send.error} />
    </>
  )
}

function curlOf(url: string, email: { from: string; to: string[]; subject: string; text: string }): string {
  const body = JSON.stringify({ ...email, to: email.to[0] })
  return `curl ${url}/api/v1/emails/send \\
  -H 'Authorization: Bearer <your API key>' \\
  -H 'Content-Type: application/json' \\
  -d '${body}'`
}
