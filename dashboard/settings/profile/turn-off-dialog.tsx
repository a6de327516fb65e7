import { Button, Group, Modal, PasswordInput, Stack } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { PersonService } from '../../../gen/verdict/admin/v1/person_pb.ts'
import { useRefresh } from '../../refresh.ts'
import { disableSecondFactor } from '../../session/auth-calls.ts'
import { AuthFaultNote } from '../../session/auth-fault-note.tsx'

export function TurnOffDialog({ onClose }: { onClose(): void }) {
  const [password, setPassword] = useState('')
  const refresh = useRefresh()
  const turnOff = useMutation({
    mutationFn: () => disableSecondFactor(password),
    async onSuccess() {
      await refresh(PersonService.method.getPerson)
      onClose()
    },
  })
  return (
    <Modal opened onClose={onClose} title="Turn off the second factor">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          turnOff.mutate()
        }}
      >
        <Stack gap="md">
          <p className="soft">From then on your password is enough to sign in. Your backup codes stop working.</p>
          <PasswordInput
            label="Password"
            autoComplete="current-password"
            value={password}
            onChange={(event) => setPassword(event.currentTarget.value)}
            required
            withAsterisk={false}
            data-autofocus
          />
          <AuthFaultNote error={turnOff.error} />
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" color="red" loading={turnOff.isPending} disabled={password === ''}>
              Turn off
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
