import { useMutation, useQuery } from '@connectrpc/connect-query'
import { Button, TextInput } from '@mantine/core'
import { useState } from 'react'
import { SignInService } from '../../gen/verdict/admin/v1/person_pb.ts'
import { fieldFaults } from '../feedback/call-error.ts'
import { CallFault } from '../feedback/error-state.tsx'
import { Form } from '../feedback/form.tsx'
import { LoadingBlock } from '../feedback/loading.tsx'
import { NarrowPage } from '../frame/narrow-page.tsx'
import { BackToSignIn } from './back-to-sign-in.tsx'

/** Asks for a mail whose link sets a new password. */
export function ForgotPage() {
  const methods = useQuery(SignInService.method.getSignInMethods)
  return (
    <NarrowPage title="Forgot your password?">
      {methods.data?.passwordReset ? (
        <ForgotForm />
      ) : methods.isPending ? (
        <LoadingBlock height={160} />
      ) : (
        <p className="soft">
          This installation sends no mail. Ask an owner of your account to remove you and to invite you again: the
          invitation sets a new password. If you operate the installation, <code>npx verdict people set-up</code> prints
          a link.
        </p>
      )}
      <BackToSignIn />
    </NarrowPage>
  )
}

function ForgotForm() {
  const [email, setEmail] = useState('')
  const ask = useMutation(SignInService.method.requestPasswordReset)
  const fault = fieldFaults(ask.error).get('email')
  if (ask.isSuccess) {
    return (
      <p role="status">
        If {email} has a sign-in, a mail is on its way. Its link works once, for one hour. Check your spam folder, too.
      </p>
    )
  }
  return (
    <Form onSubmit={() => ask.mutate({ email })}>
      <TextInput
        label="Email address"
        description="A link that sets a new password is mailed to it."
        type="email"
        autoComplete="username"
        value={email}
        onChange={(event) => setEmail(event.currentTarget.value)}
        required
        withAsterisk={false}
        autoFocus
        error={fault}
      />
      {!fault && <CallFault error={ask.error} />}
      <Button type="submit" loading={ask.isPending}>
        Mail a link
      </Button>
    </Form>
  )
}
