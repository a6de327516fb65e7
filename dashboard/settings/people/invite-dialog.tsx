import { useMutation } from '@connectrpc/connect-query'
import { Button, Group, Radio, Stack, TextInput } from '@mantine/core'
import { useState } from 'react'
import { Role } from '../../../gen/verdict/admin/v1/options_pb.ts'
import { type InvitePersonResponse, PeopleService } from '../../../gen/verdict/admin/v1/people_pb.ts'
import { ROLE_SENTENCES, ROLE_WORDS } from '../../account/account.ts'
import { CodeBlock } from '../../copy/code-block.tsx'
import { Dialog } from '../../dialog/dialog.tsx'
import { fieldFaults } from '../../feedback/call-error.ts'
import { DialogButtons } from '../../feedback/dialog-buttons.tsx'
import { CallFault } from '../../feedback/error-state.tsx'
import { Form } from '../../feedback/form.tsx'
import { useRefresh } from '../../refresh.ts'

/** Invites a person, and then shows the link once. */
export function InviteDialog({ onClose }: { onClose(): void }) {
  const [created, setCreated] = useState<InvitePersonResponse>()
  return (
    <Dialog
      opened
      onClose={onClose}
      title={created ? 'The invitation is created' : 'Invite person'}
      closeOnClickOutside={!created}
      closeOnEscape={!created}
    >
      {created ? (
        <InvitationLink created={created} onDone={onClose} />
      ) : (
        <InviteForm onCreated={setCreated} onCancel={onClose} />
      )}
    </Dialog>
  )
}

function InviteForm({ onCreated, onCancel }: { onCreated(created: InvitePersonResponse): void; onCancel(): void }) {
  const [email, setEmail] = useState('')
  const [role, setRole] = useState<Role>(Role.MEMBER)
  const refresh = useRefresh()
  const invite = useMutation(PeopleService.method.invitePerson, {
    onSuccess(created) {
      onCreated(created)
      void refresh(PeopleService.method.listPeople)
    },
  })
  const faults = fieldFaults(invite.error)
  return (
    <Form onSubmit={() => invite.mutate({ email: email.trim(), role })}>
      <TextInput
        label="Email address"
        type="email"
        value={email}
        onChange={(event) => setEmail(event.currentTarget.value)}
        required
        withAsterisk={false}
        autoComplete="off"
        error={faults.get('email')}
        data-autofocus
      />
      <Radio.Group label="Role" value={String(role)} onChange={(value) => setRole(Number(value) as Role)}>
        <Stack gap="xs" mt={8}>
          {ROLE_SENTENCES.map(([value, sentence]) => (
            <Radio key={value} value={String(value)} label={ROLE_WORDS[value]} description={sentence} />
          ))}
        </Stack>
      </Radio.Group>
      {faults.size === 0 && <CallFault error={invite.error} />}
      <DialogButtons
        verb="Create invitation"
        onClose={onCancel}
        pending={invite.isPending}
        disabled={email.trim() === ''}
      />
    </Form>
  )
}

function InvitationLink({ created, onDone }: { created: InvitePersonResponse; onDone(): void }) {
  return (
    <Stack gap="md">
      <p>
        {created.mailed ? (
          <>
            A mail with a link is on its way to <bdi>{created.invitation?.email}</bdi>. You can give them this link,
            too. It works once, for seven days, and it is not shown again.
          </>
        ) : (
          <>
            Give this link to <bdi>{created.invitation?.email}</bdi>. It works once, for seven days, and it is not shown
            again. Verdict does not mail it: the operator has set no sender, or mails to people of this account bounced
            or were complained about today.
          </>
        )}
      </p>
      <CodeBlock code={created.url} label="Link" />
      <Group justify="flex-end">
        <Button onClick={onDone}>{created.mailed ? 'Done' : 'I have copied the link'}</Button>
      </Group>
    </Stack>
  )
}
