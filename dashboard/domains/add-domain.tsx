import { useMutation } from '@connectrpc/connect-query'
import { Checkbox, TextInput } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { DomainService } from '../../gen/verdict/v1/domains_pb.ts'
import { useAccount } from '../account/account.ts'
import { Dialog } from '../dialog/dialog.tsx'
import { fieldFaults } from '../feedback/call-error.ts'
import { DialogButtons } from '../feedback/dialog-buttons.tsx'
import { CallFault } from '../feedback/error-state.tsx'
import { Form } from '../feedback/form.tsx'
import { SHOWN_ON_OVERVIEW } from '../overview/shown-on-overview.ts'
import { useRefresh } from '../refresh.ts'

interface AddDomainProps {
  opened: boolean
  onClose(): void
}

/** Asks for the name of a domain, adds it and opens its page with the records to publish. */
export function AddDomain({ opened, onClose }: AddDomainProps) {
  return (
    <Dialog opened={opened} onClose={onClose} title="Add domain">
      <AddForm onClose={onClose} />
    </Dialog>
  )
}

function AddForm({ onClose }: { onClose(): void }) {
  const { membership } = useAccount()
  const navigate = useNavigate()
  const refresh = useRefresh()
  const [name, setName] = useState('')
  const [requireTls, setRequireTls] = useState(false)
  const add = useMutation(DomainService.method.createDomain, {
    onSuccess({ domainId }) {
      onClose()
      void refresh(DomainService.method.listDomains, ...SHOWN_ON_OVERVIEW)
      void navigate({ to: '/$account/domains/$domain', params: { account: membership.accountId, domain: domainId } })
    },
  })
  const fault = fieldFaults(add.error).get('domain')
  return (
    <Form onSubmit={() => add.mutate({ domain: name.trim(), requireTls })}>
      <TextInput
        label="Domain"
        description="The part after @ in From. A subdomain is a domain of its own."
        placeholder="example.com"
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        error={fault}
        required
        withAsterisk={false}
        autoComplete="off"
        spellCheck={false}
        data-autofocus
      />
      <Checkbox
        label="Send only over TLS with a valid certificate"
        description="Mail to servers without one then bounces. You can change this later."
        checked={requireTls}
        onChange={(event) => setRequireTls(event.currentTarget.checked)}
      />
      {!fault && <CallFault error={add.error} />}
      <DialogButtons verb="Add domain" onClose={onClose} pending={add.isPending} />
    </Form>
  )
}
