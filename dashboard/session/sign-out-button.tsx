import { Button } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useSignOut } from './sign-out.ts'

export function SignOutButton() {
  const leave = useMutation({ mutationFn: useSignOut() })
  return (
    <Button variant="default" loading={leave.isPending} onClick={() => leave.mutate()}>
      Sign out
    </Button>
  )
}
