import { useMutation } from '@connectrpc/connect-query'
import { TextInput } from '@mantine/core'
import { useState } from 'react'
import { SuppressionService } from '../../gen/verdict/v1/suppression_pb.ts'
import { Dialog } from '../dialog/dialog.tsx'
import { fieldFaults } from '../feedback/call-error.ts'
import { DialogButtons } from '../feedback/dialog-buttons.tsx'
import { CallFault } from '../feedback/error-state.tsx'
import { Form } from '../feedback/form.tsx'
import { useRefresh } from '../refresh.ts'

/** Asks for an address that is never to be mailed. */
export function AddSuppression({ opened, onClose }: { opened: boolean; onClose(): void }) {
  return (
    <Dialog opened={opened} onClose={onClose} title="Add address">
      <AddForm onClose={onClose} />
    </Dialog>
  )
}

function AddForm({ onClose }: { onClose(): void }) {
  const refresh = useRefresh()
  const [email, setEmail] = useState('')
  const [tenantId, setTenantId] = useState('')
  const add = useMutation(SuppressionService.method.add, {
    onSuccess() {
      onClose()
      void refresh(SuppressionService.method.list)
    },
  })
  const faults = fieldFaults(add.error)
  return (
    <Form onSubmit={() => add.mutate({ email: email.trim(), tenantId: tenantId.trim() || undefined })}>
      <TextInput
        label="Address"
        description="Sends to it are rejected, and nothing leaves the service."
        placeholder="ann@example.com"
        value={email}
        onChange={(event) => setEmail(event.currentTarget.value)}
        error={faults.get('email')}
        required
        withAsterisk={false}
        autoComplete="off"
        spellCheck={false}
        data-autofocus
      />
      <TextInput
        label="Tenant"
        description="Only sends of this tenant are rejected. Leave it empty for all sends of the account."
        value={tenantId}
        onChange={(event) => setTenantId(event.currentTarget.value)}
        error={faults.get('tenant_id')}
        spellCheck={false}
      />
      {faults.size === 0 && <CallFault error={add.error} />}
      <DialogButtons verb="Add address" onClose={onClose} pending={add.isPending} />
    </Form>
  )
}
