import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { GetEmailResponse } from '../../gen/verdict/v1/emails_pb.ts'
import { useAccount } from '../account/account.ts'
import { CodeBlock } from '../copy/code-block.tsx'
import { shortened } from '../copy/shortened.ts'
import { FactList } from '../lists/fact-list.tsx'
import { sizeOf } from '../numbers/quantities.ts'
import { OutsideText } from '../outside-text/outside-text.tsx'
import { Moment } from '../time/ago.tsx'
import { msOf } from '../time/ms-of.ts'
import { lengthOf } from '../time/times.ts'
import { FEW } from './folded-recipients.ts'
import styles from './message.module.css'
import type { MessageSearch } from './message-filters.ts'
import { Receipt } from './receipt.tsx'
import { commandOfSend } from './send-command.ts'

/** What the send was given, the receipt, and the command that repeats it. */
export function MessageFacts({ email }: { email: GetEmailResponse }) {
  return (
    <aside className={styles.side} aria-label="About the message">
      <FactList className={styles.facts} facts={factsOf(email)} />
      <Pairs title="Metadata" pairs={email.metadata} by={(pair) => ({ metadata: pair })} />
      <Pairs title="Headers" pairs={email.headers} />
      <Attachments email={email} />
      <Receipt messageId={email.messageId} />
      <Command email={email} />
    </aside>
  )
}

function factsOf(email: GetEmailResponse): [term: string, value: ReactNode][] {
  const { from, to, cc, bcc, replyTo, subject, raw, tag, tenantId, retryOf, retriedBy } = email
  const { sizeBytes, createdAt, expiresAt } = email
  return [
    ['From', <From key="from" from={from} />],
    ['To', <OutsideText key="to" text={few(to, '\n')} addresses />],
    ['Cc', cc.length > 0 && <OutsideText key="cc" text={few(cc, '\n')} addresses />],
    ['Bcc', bcc.length > 0 && <OutsideText key="bcc" text={few(bcc, '\n')} addresses />],
    ['Reply-To', replyTo && <OutsideText key="reply" text={replyTo} addresses />],
    ['Subject', <OutsideText key="subject" text={subject} />],
    ['Built by', raw && 'The sender: a raw message'],
    ['Tag', tag && <Filtered key="tag" by={{ tag }} text={tag} />],
    ['Tenant', tenantId && <Filtered key="tenant" by={{ tenant: tenantId }} text={tenantId} />],
    ['Retry of', retryOf && <Messages key="retry-of" ids={[retryOf]} />],
    ['Retried by', retriedBy.length > 0 && <Messages key="retried-by" ids={retriedBy} />],
    ['Sent', <Moment key="sent" at={createdAt} />],
    ['Answered after', lengthOf(responseMs(email))],
    ['Size', sizeBytes > 0 ? sizeOf(sizeBytes) : 'No message was built'],
    ['Kept until', <Moment key="kept" at={expiresAt} />],
  ]
}

/** Some addresses, or how many there are: each has a row among the recipients. */
const few = (addresses: string[], between: string) =>
  addresses.length > FEW ? `${addresses.length} addresses` : addresses.join(between)

function From({ from }: { from: string }) {
  const domain = from.slice(from.lastIndexOf('@') + 1).replace(/>$/, '')
  return (
    <>
      <OutsideText text={from} addresses />
      <div>
        <Filtered by={{ domain }} text={`All from ${domain}`} />
      </div>
    </>
  )
}

/** A text that leads to the messages that share it. */
function Filtered({ by, text }: { by: MessageSearch; text: string }) {
  const { membership } = useAccount()
  return (
    <Link to="/$account/messages" params={{ account: membership.accountId }} search={by} className="text-link">
      <OutsideText text={text} />
    </Link>
  )
}

/** Links to other messages of the chain of retries. */
function Messages({ ids }: { ids: string[] }) {
  const { membership } = useAccount()
  return ids.map((message) => (
    <div key={message}>
      <Link
        to="/$account/messages/$message"
        params={{ account: membership.accountId, message }}
        className="text-link"
        title={message}
      >
        {shortened(message)}
      </Link>
    </div>
  ))
}

/** The checks before a message is stored count for its recipients, too: the whole is never shorter than a part. */
function responseMs({ createdAt, completedAt, recipients }: GetEmailResponse): number {
  const parts = recipients.map(({ smtp }) => smtp?.durationMs ?? 0)
  return Math.max(msOf(completedAt) - msOf(createdAt), ...parts)
}

interface PairsProps {
  title: string
  pairs: Record<string, string>
  /** The messages that share a pair, written as `key=value`. */
  by?(pair: string): MessageSearch
}

function Pairs({ title, pairs, by }: PairsProps) {
  const entries = Object.entries(pairs)
  if (entries.length === 0) return null
  const shown = (name: string, value: string) =>
    by ? <Filtered key={name} by={by(`${name}=${value}`)} text={value} /> : <OutsideText key={name} text={value} />
  return (
    <section>
      <h3>{title}</h3>
      <FactList className={styles.facts} facts={entries.map(([name, value]) => [name, shown(name, value)])} />
    </section>
  )
}

function Attachments({ email: { attachments } }: { email: GetEmailResponse }) {
  if (attachments.length === 0) return null
  return (
    <section>
      <h3>Attachments</h3>
      <ul className={styles.files}>
        {attachments.map(({ filename, contentType, sizeBytes, contentId }) => (
          <li key={`${filename} ${contentId}`}>
            <OutsideText text={filename} />
            <span className="faint">
              {contentType}, {sizeOf(sizeBytes)}
              {contentId !== undefined && ', in the HTML'}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}

function Command({ email }: { email: GetEmailResponse }) {
  const { person } = useAccount()
  const { command, recipients, isRetry, missing } = commandOfSend(
    email,
    person.installation?.publicUrl ?? location.origin,
  )
  return (
    <section>
      <h3>Copy as curl</h3>
      <p className="soft">
        {isRetry ? 'This retries ' : 'This sends a new message to '}
        <OutsideText text={few(recipients, ', ')} addresses />. {isRetry && 'Each recipient can be retried once'}
        {isRetry && email.retriedBy.length > 0 && ', and another message has done it for some: see above'}
        {isRetry && '. '}
        <code>VERDICT_API_KEY</code> is a key of this account.
      </p>
      {missing.length > 0 && (
        <div className={styles.missing}>
          <p>The command lacks:</p>
          <ul>
            {missing.map((what) => (
              <li key={what}>
                <OutsideText text={what} />
              </li>
            ))}
          </ul>
        </div>
      )}
      <div className={styles.command}>
        <CodeBlock code={command} label="curl command" />
      </div>
    </section>
  )
}
