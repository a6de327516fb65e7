import { useMutation } from '@connectrpc/connect-query'
import { Button } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { Role } from '../../gen/verdict/admin/v1/options_pb.ts'
import { EmailService } from '../../gen/verdict/v1/emails_pb.ts'
import { useAccount, useMay } from '../account/account.ts'
import { CodeBlock } from '../copy/code-block.tsx'
import { CallFault } from '../feedback/error-state.tsx'
import { useRefresh } from '../refresh.ts'
import { StatusPill } from '../status/status-pill.tsx'
import styles from './overview.module.css'
import { SHOWN_ON_OVERVIEW } from './shown-on-overview.ts'

/** A simulated mailbox, so nothing leaves the machine. */
const MAILBOX = 'delivered@simulator.test'

/** A first email as a command, and as a button. */
export function FirstSend({ domain = 'example.com' }: { domain?: string }) {
  const { person, membership } = useAccount()
  const mayMember = useMay(Role.MEMBER)
  const refresh = useRefresh()
  const email = { from: `hello@${domain}`, to: [MAILBOX], subject: 'Hello', text: 'It works.' }
  const send = useMutation(EmailService.method.send, {
    onSuccess: () => void refresh(EmailService.method.listEmails, ...SHOWN_ON_OVERVIEW),
  })
  return (
    <div className={styles.firstSend}>
      <p className="soft">
        The command reads a key from the variable <code>VERDICT_API_KEY</code>.{' '}
        <Link to="/$account/settings/keys" params={{ account: membership.accountId }} className="text-link">
          Create a key
        </Link>{' '}
        and you get the same command with the key in it. Other addresses have other outcomes: try{' '}
        <code>mailbox_full@simulator.test</code>, or <code>complaint@simulator.test</code>, which complains a second
        later.
      </p>
      <CodeBlock code={curlOf(person.installation?.publicUrl ?? location.origin, email)} label="Command" wrap />
      {mayMember && (
        <div className={styles.stepActions}>
          <Button variant="default" size="xs" loading={send.isPending} onClick={() => send.mutate(email)}>
            Send a test email
          </Button>
          {send.data && <StatusPill status={send.data.status} />}
        </div>
      )}
      <CallFault error={send.error} />
    </div>
  )
}

function curlOf(url: string, email: { from: string; to: string[]; subject: string; text: string }): string {
  const body = JSON.stringify({ ...email, to: email.to[0] })
  return `curl ${url}/api/v1/emails/send \\
  -H "Authorization: Bearer $VERDICT_API_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '${body}'`
}
