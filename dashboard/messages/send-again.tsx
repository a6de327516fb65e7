import { callUnaryMethod, useTransport } from '@connectrpc/connect-query'
import { Button, Checkbox, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconSend } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { Role } from '../../gen/verdict/admin/v1/options_pb.ts'
import { EmailService, type GetEmailResponse } from '../../gen/verdict/v1/emails_pb.ts'
import type { RecipientOutcome } from '../../gen/verdict/v1/outcomes_pb.ts'
import { useAccount, useMay } from '../account/account.ts'
import { Dialog } from '../dialog/dialog.tsx'
import { DialogButtons } from '../feedback/dialog-buttons.tsx'
import { CallFault } from '../feedback/error-state.tsx'
import { Form } from '../feedback/form.tsx'
import { EmailAddress } from '../outside-text/address.tsx'
import { useRefresh } from '../refresh.ts'
import { REASON_WORDS } from '../status/reasons.ts'
import { candidatesOf, repeatFault, repeatOf } from './repeat.ts'

const method = EmailService.method.send

/** Sends a message again to those who did not get it, or says why that is not possible here. */
export function SendAgain({ email }: { email: GetEmailResponse }) {
  const { membership } = useAccount()
  const maySend = useMay(Role.MEMBER)
  const [opened, { open, close }] = useDisclosure()
  const { open: candidates, doubtful } = candidatesOf(email)
  const newest = email.retriedBy.at(-1)
  if (newest !== undefined) {
    return (
      <p>
        It was sent again:{' '}
        <Link
          to="/$account/messages/$message"
          params={{ account: membership.accountId, message: newest }}
          className="text-link"
        >
          the newest try
        </Link>
      </p>
    )
  }
  if (!maySend || email.sandbox || candidates.length + doubtful.length === 0) return null
  const fault = repeatFault(email)
  if (fault) return <p className="soft">Only your application can send it again. {fault}</p>
  return (
    <div>
      <Button variant="default" size="sm" leftSection={<IconSend size={16} aria-hidden />} onClick={open}>
        Send again
      </Button>
      <Dialog opened={opened} onClose={close} title="Send again">
        <SendAgainForm email={email} onClose={close} />
      </Dialog>
    </div>
  )
}

function SendAgainForm({ email, onClose }: { email: GetEmailResponse; onClose(): void }) {
  const { membership } = useAccount()
  const transport = useTransport()
  const navigate = useNavigate()
  const refresh = useRefresh()
  const { open, doubtful } = candidatesOf(email)
  const [chosen, setChosen] = useState(open.map(({ email }) => email))
  // A second click sends nothing more. Another opening of the dialog is another wish.
  const [click] = useState(() => Math.random().toString(36).slice(2))
  const repeat = repeatOf(email, chosen)
  const send = useMutation({
    async mutationFn() {
      if ('fault' in repeat) throw new Error(repeat.fault)
      const places = email.recipients.flatMap((one, i) => (chosen.includes(one.email) ? [i] : []))
      const headers = { 'idempotency-key': `again ${email.messageId} ${places.join('.')} ${click}` }
      return callUnaryMethod(transport, method, repeat.request, { headers })
    },
    onSuccess({ messageId }) {
      void refresh(EmailService.method.getEmail, EmailService.method.listEmails)
      void navigate({
        to: '/$account/messages/$message',
        params: { account: membership.accountId, message: messageId },
      })
    },
  })
  const toggle = (address: string, isOn: boolean) =>
    setChosen((now) => [...now.filter((one) => one !== address), ...(isOn ? [address] : [])])
  return (
    <Form onSubmit={() => send.mutate()}>
      <div>
        {'fault' in repeat
          ? repeat.fault
          : repeat.isRetry
            ? 'The same message is tried again. Each recipient can be retried once.'
            : 'A new message with the same content, metadata, tag and tenant is sent.'}
      </div>
      {open.map((recipient) => (
        <Checkbox
          key={recipient.email}
          checked={chosen.includes(recipient.email)}
          onChange={({ currentTarget: { checked } }) => toggle(recipient.email, checked)}
          label={<RecipientLabel {...recipient} />}
        />
      ))}
      {doubtful.map(({ email }) => (
        <TextInput
          key={email}
          label={
            <>
              <EmailAddress email={email} wrap /> may have it already
            </>
          }
          description="Type the address to send it all the same."
          onChange={({ currentTarget: { value } }) => toggle(email, value.trim() === email)}
          autoComplete="off"
          spellCheck={false}
        />
      ))}
      <CallFault error={send.error} />
      <DialogButtons verb="Send again" onClose={onClose} pending={send.isPending} disabled={'fault' in repeat} />
    </Form>
  )
}

function RecipientLabel({ email, reason }: RecipientOutcome) {
  return (
    <>
      <EmailAddress email={email} wrap />
      {reason !== undefined && <span className="soft"> {REASON_WORDS[reason]}</span>}
    </>
  )
}
