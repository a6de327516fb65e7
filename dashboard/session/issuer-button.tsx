import { Button, Stack } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useConfirmation } from '../confirmation/confirmation.ts'
import { AuthError, type OidcStart, startOidc } from './auth-calls.ts'
import { AuthFaultNote } from './auth-fault-note.tsx'

interface IssuerButtonProps extends Omit<OidcStart, 'back'> {
  /** Host of the issuer. */
  host: string
  /** The label. By default `Continue with` the host. */
  verb?: string
  /** The path to come back to, below /dashboard. */
  back?: string
}

/** Opens the issuer of OpenID Connect. An error appears below the button when the issuer does not respond. */
export function IssuerButton({ host, verb = `Continue with ${host}`, ...start }: IssuerButtonProps) {
  const confirmation = useConfirmation()
  const leave = useMutation({
    async mutationFn() {
      try {
        return await startOidc(start)
      } catch (error) {
        const isNeeded = error instanceof AuthError && error.fault.code === 'confirmation_required'
        if (isNeeded && (await confirmation.ask())) return startOidc(start)
        throw error
      }
    },
    onSuccess: ({ url }) => location.assign(url),
  })
  return (
    <Stack gap="xs">
      <Button variant="default" loading={leave.isPending || leave.isSuccess} onClick={() => leave.mutate()}>
        {verb}
      </Button>
      <AuthFaultNote error={leave.error} />
    </Stack>
  )
}

/** The path of the open page below /dashboard, to come back to. */
export const currentPath = () => `${location.pathname}${location.search}`.replace(/^\/dashboard/, '')
