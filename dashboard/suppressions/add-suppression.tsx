import { useMutation } from '@connectrpc/connect-query'
import { Button, Group, Modal, Stack, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { SuppressionService } from '../../gen/verdict/v1/suppression_pb.ts'
import { fieldFaults } from '../feedback/call-error.ts'
import { CallFault } from '../feedback/error-state.tsx'

/** Asks for an address that is never to be mailed. */
export function AddSuppression({ opened, onClose }: { opened: boolean; onClose(): void }) {
  return (
    <Modal opened={opened} onClose={onClose} title="Add address">
      <AddForm onClose={onClose} />
    </Modal>
  )
}

function AddForm({ onClose }: { onClose(): void }) {
  const queries = useQueryClient()
  const [email, setEmail] = useState('')
  const [tenantId, setTenantId] = useState('')
  const add = useMutation(SuppressionService.method.add, {
    onSuccess() {
      onClose()
      void queries.invalidateQueries()
    },
  })
  const faults = fieldFaults(add.error)
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        add.mutate({ email: email.trim(), tenantId: tenantId.trim() || undefined })
      }}
    >
      <Stack gap="md">
        <TextInput
          label="Address"
          description="Sends to it are rejected, and nothing leaves the service."
          placeholder="ann@example.com"
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
          error={faults.get('email')}
          required
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
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={add.isPending}>
            Add address
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
