import { useMutation, useQuery } from '@connectrpc/connect-query'
import { Button, TextInput } from '@mantine/core'
import { Link, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { SignInService } from '../../gen/verdict/admin/v1/person_pb.ts'
import { errorCodeOf, fieldFaults } from '../feedback/call-error.ts'
import { CallFault, ErrorState } from '../feedback/error-state.tsx'
import { Form } from '../feedback/form.tsx'
import { LoadingBlock } from '../feedback/loading.tsx'
import { NarrowPage } from '../frame/narrow-page.tsx'
import { Moment } from '../time/ago.tsx'
import { PasswordField } from './password-field.tsx'
import { useEnter } from './use-enter.ts'

/** Sets a new password, by the link of a mail. */
export function ResetPage() {
  const { token } = useParams({ from: '/reset/$token' })
  const found = useQuery(SignInService.method.getPasswordReset, { token })
  if (errorCodeOf(found.error) === 'not_found') {
    return (
      <NarrowPage title="This link no longer works">
        <p className="soft">
          It was used, it is older than an hour, or a newer link was used.{' '}
          <Link to="/forgot" className="text-link">
            Ask for a new link
          </Link>
          .
        </p>
      </NarrowPage>
    )
  }
  return (
    <NarrowPage title="Set a new password">
      {found.data ? (
        <>
          <p className="soft">
            A new password ends your sessions in every browser. Your second factor stays. This link works once, until{' '}
            <Moment at={found.data.expiresAt} />.
          </p>
          <ResetForm token={token} email={found.data.email} />
        </>
      ) : found.error ? (
        <ErrorState error={found.error} retry={() => void found.refetch()} />
      ) : (
        <LoadingBlock height={200} />
      )}
    </NarrowPage>
  )
}

function ResetForm({ token, email }: { token: string; email: string }) {
  const [password, setPassword] = useState('')
  const enter = useEnter(password)
  const reset = useMutation(SignInService.method.resetPassword, { onSuccess: (done) => enter.mutate(done.email) })
  const fault = fieldFaults(reset.error).get('password')
  return (
    <Form onSubmit={() => reset.mutate({ token, password })}>
      <TextInput label="Email address" type="email" autoComplete="username" value={email} readOnly />
      <PasswordField isNew value={password} onChange={setPassword} error={fault} data-autofocus />
      {!fault && <CallFault error={reset.error} />}
      <Button type="submit" loading={reset.isPending || enter.isPending}>
        Set password
      </Button>
    </Form>
  )
}
