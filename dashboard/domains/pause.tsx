import type { Timestamp } from '@bufbuild/protobuf/wkt'
import { useMutation, useQuery } from '@connectrpc/connect-query'
import { Button, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { DomainService, type Pause } from '../../gen/verdict/admin/v1/domains_pb.ts'
import { Role } from '../../gen/verdict/admin/v1/options_pb.ts'
import { type Domain, DomainService as Domains } from '../../gen/verdict/v1/domains_pb.ts'
import { SendingState } from '../../gen/verdict/v1/stats_pb.ts'
import { useAccount, useMay } from '../account/account.ts'
import { Dialog } from '../dialog/dialog.tsx'
import { fieldFaults } from '../feedback/call-error.ts'
import { DialogButtons } from '../feedback/dialog-buttons.tsx'
import { CallFault } from '../feedback/error-state.tsx'
import { Form } from '../feedback/form.tsx'
import { countOf, percentOf } from '../numbers/quantities.ts'
import { SHOWN_ON_OVERVIEW } from '../overview/shown-on-overview.ts'
import { useRefresh } from '../refresh.ts'
import { Pill } from '../status/status-pill.tsx'
import { Ago, Moment } from '../time/ago.tsx'
import { msOf } from '../time/ms-of.ts'
import { BREAKER_WORDS } from './domain-states.ts'
import styles from './domains.module.css'

const DAY_MS = 86_400_000
const REFRESH_MS = 15_000

/** What the circuit breaker does to the mail of a domain, why, and until when. An owner can end a pause. */
export function Sending({ domain }: { domain: Domain }) {
  const { domainId: id, sending } = domain
  const isLimited = sending === SendingState.PAUSED || sending === SendingState.THROTTLED
  const { data } = useQuery(
    DomainService.method.getPause,
    { domainId: id },
    { enabled: isLimited, refetchInterval: REFRESH_MS },
  )
  const shown = BREAKER_WORDS[sending]
  if (!shown) return null
  const { tone, word, sentence } = shown
  return (
    <>
      <p className={styles.state}>
        <Pill tone={tone} word={word} large /> <span>{data?.pause ? <Times pause={data.pause} /> : sentence}</span>
      </p>
      {data?.pause && <Causes domain={domain} pause={data.pause} />}
    </>
  )
}

function Times({ pause: { refusesAll, since, until } }: { pause: Pause }) {
  if (!refusesAll || !until)
    return (
      <>
        After a pause, ten emails a minute are sent until a hundred have neither bounced nor led to complaints. Since{' '}
        <Moment at={since} />.
      </>
    )
  return (
    <>
      Every send has been refused since <Moment at={since} /> (<Ago at={since} />
      ). Sending resumes slowly at <Moment at={until} /> (<Ago at={until} />
      ).
    </>
  )
}

function Causes({ domain, pause }: { domain: Domain; pause: Pause }) {
  const { refusesAll, emails, bounces, complaints, byComplaints, refusedSends, since, resumableAt } = pause
  const { membership } = useAccount()
  const mayResume = useMay(Role.OWNER)
  const [opened, { open, close }] = useDisclosure()
  const caused = byComplaints ? complaints : bounces
  const before = { from: timeText(since, -DAY_MS), to: timeText(since, 0), domain: domain.domain }
  return (
    <div className={styles.pause}>
      {refusesAll && (
        <p>
          The cause:{' '}
          <Link
            to="/$account/messages"
            params={{ account: membership.accountId }}
            search={
              byComplaints
                ? { ...before, feedback: 'complaint' }
                : { ...before, status: 'bounced', reason: 'mailbox_does_not_exist' }
            }
            className="text-link"
          >
            {countOf(caused)} of {countOf(emails)} emails
          </Link>{' '}
          of the 24 hours before ({percentOf(emails === 0 ? 0 : caused / emails)}){' '}
          {byComplaints ? 'led to complaints.' : 'went to mailboxes that do not exist.'} Remove these addresses from
          your lists first.
        </p>
      )}
      {refusedSends > 0 && (
        <p>
          <Link
            to="/$account/refused-sends"
            params={{ account: membership.accountId }}
            search={{ error: 'rate_limit_exceeded', from: timeText(since, 0), to: timeText(since, 7 * DAY_MS) }}
            className="text-link"
          >
            {countOf(refusedSends)} {refusedSends === 1 ? 'send was' : 'sends were'} refused
          </Link>{' '}
          since then. The programs must send them again.
        </p>
      )}
      {refusesAll && mayResume && (
        <p>
          <Button variant="default" size="sm" onClick={open} disabled={resumableAt !== undefined}>
            Resume now
          </Button>{' '}
          {resumableAt && (
            <span className="soft">
              It was resumed less than 24 hours ago. You can do that again <Ago at={resumableAt} />.
            </span>
          )}
        </p>
      )}
      <Dialog opened={opened} onClose={close} title={`Resume ${domain.domain}`}>
        <ResumeForm domain={domain} onClose={close} />
      </Dialog>
    </div>
  )
}

const timeText = (at: Timestamp | undefined, laterMs: number) => new Date(msOf(at) + laterMs).toISOString()

function ResumeForm({ domain: { domainId }, onClose }: { domain: Domain; onClose(): void }) {
  const [reason, setReason] = useState('')
  const refresh = useRefresh()
  const resume = useMutation(DomainService.method.resumeDomain, {
    onSuccess() {
      void refresh(Domains.method.getDomain, Domains.method.listDomains, DomainService.method.getPause)
      void refresh(...SHOWN_ON_OVERVIEW)
      onClose()
    },
  })
  const fault = fieldFaults(resume.error).get('reason')
  return (
    <Form onSubmit={() => resume.mutate({ domainId, reason })}>
      <div>
        Ten emails a minute are sent, and all of them after a hundred that neither bounced nor led to complaints. When
        as many bounce as before, sending is paused again. You can do this once in 24 hours.
      </div>
      <TextInput
        label="What has changed"
        description="The audit log shows it."
        placeholder="We removed the addresses that bounced"
        value={reason}
        error={fault}
        maxLength={200}
        onChange={(event) => setReason(event.currentTarget.value)}
        data-autofocus
      />
      {!fault && <CallFault error={resume.error} />}
      <DialogButtons
        verb="Resume sending"
        onClose={onClose}
        pending={resume.isPending}
        disabled={reason.trim() === ''}
      />
    </Form>
  )
}
