import { Button, Stack } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useConfirmation } from '../confirmation/confirmation.ts'
import { AuthError, type OidcStart, startOidc } from './auth-calls.ts'
import { AuthFaultNote } from './auth-fault-note.tsx'

interface IssuerButtonProps extends Omit<OidcStart, 'back'> {
  /** Host of the issuer. */
  host: string
  /** By default it continues with the issuer. */
  verb?: string
  /** The path to come back to, below /dashboard. */
  back?: string
  attributes?: Record<`data-${string}`, string>
}

/** Leaves for the issuer of OpenID Connect. While it does not respond, the button says so. */
export function IssuerButton({ host, verb = `Continue with ${host}`, attributes, ...start }: IssuerButtonProps) {
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
      <Button
        variant="default"
        loading={leave.isPending || leave.isSuccess}
        onClick={() => leave.mutate()}
        {...attributes}
      >
        {verb}
      </Button>
      <AuthFaultNote error={leave.error} />
    </Stack>
  )
}

/** The page that is open, to come back to. */
export const currentPath = () => `${location.pathname}${location.search}`.replace(/^\/dashboard/, '')
