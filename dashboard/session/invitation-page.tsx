import { useMutation, useQuery } from '@connectrpc/connect-query'
import { Button, TextInput } from '@mantine/core'
import { Link, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { type GetInvitationResponse, InvitationService } from '../../gen/verdict/admin/v1/people_pb.ts'
import { SignInService } from '../../gen/verdict/admin/v1/person_pb.ts'
import { ROLE_WORDS } from '../account/account.ts'
import { errorCodeOf, fieldFaults } from '../feedback/call-error.ts'
import { CallFault, ErrorState } from '../feedback/error-state.tsx'
import { Form } from '../feedback/form.tsx'
import { LoadingBlock } from '../feedback/loading.tsx'
import { NarrowPage } from '../frame/narrow-page.tsx'
import { Moment } from '../time/ago.tsx'
import { IssuerButton } from './issuer-button.tsx'
import { PasswordField } from './password-field.tsx'
import { useEnter } from './use-enter.ts'

/** Sets up a new installation, or accepts an invitation into an account, by its link. */
export function InvitationPage() {
  const { token } = useParams({ from: '/invitation/$token' })
  const found = useQuery(InvitationService.method.getInvitation, { token })
  const issuerHost = useQuery(SignInService.method.getSignInMethods).data?.issuerHost
  if (errorCodeOf(found.error) === 'not_found') {
    return (
      <NarrowPage title="This link no longer works">
        <p className="soft">
          It was used, withdrawn, or it expired. If you have a sign-in,{' '}
          <Link to="/sign-in" className="text-link">
            sign in
          </Link>
          . If not, ask an owner of the account for a new invitation. For a new installation,{' '}
          <code>npx verdict people set-up</code> prints a new link.
        </p>
      </NarrowPage>
    )
  }
  if (found.error) {
    return (
      <NarrowPage title="Invitation">
        <ErrorState error={found.error} retry={() => void found.refetch()} />
      </NarrowPage>
    )
  }
  if (!found.data) {
    return (
      <NarrowPage title="Invitation">
        <LoadingBlock height={240} />
      </NarrowPage>
    )
  }
  const isSetUp = found.data.email === undefined
  return (
    <NarrowPage title={isSetUp ? 'Set up Verdict' : `Join ${found.data.accountNames.join(', ')}`}>
      <p className="soft">
        {isSetUp
          ? 'Choose how you sign in. You will own every account of this installation.'
          : `You are invited as ${ROLE_WORDS[found.data.role]?.toLowerCase()}.`}{' '}
        This link works until <Moment at={found.data.expiresAt} />.
      </p>
      <AcceptForm token={token} invitation={found.data} />
      {!isSetUp && issuerHost !== undefined && <IssuerButton host={issuerHost} purpose="sign-in" invitation={token} />}
    </NarrowPage>
  )
}

function AcceptForm({ token, invitation }: { token: string; invitation: GetInvitationResponse }) {
  const isSetUp = invitation.email === undefined
  // The server says only to the holder of a mailed link whether the address has a sign-in.
  const { hasSignIn } = invitation
  const [isNew, setIsNew] = useState(!hasSignIn)
  const [email, setEmail] = useState('')
  const [name, setName] = useState('')
  const [password, setPassword] = useState('')
  const enter = useEnter(password)
  const accept = useMutation(InvitationService.method.acceptInvitation, {
    onSuccess: (accepted) => enter.mutate(accepted.email),
  })
  const faults = fieldFaults(accept.error)
  const isWrong = errorCodeOf(accept.error) === 'wrong_password'
  return (
    <Form
      onSubmit={() =>
        accept.mutate({
          token,
          email: isSetUp ? email : undefined,
          name: isNew ? name : undefined,
          password,
          replace: isNew && hasSignIn,
        })
      }
    >
      {hasSignIn && (
        <p className="soft" role="note">
          {isNew ? (
            'Another person created a sign-in with your address. That sign-in loses the address, and its sessions end. Your new sign-in starts without its accounts.'
          ) : (
            <>
              This address has a sign-in. Enter its password, or{' '}
              <Link to="/forgot" className="text-link">
                set a new one
              </Link>{' '}
              and come back.
            </>
          )}
        </p>
      )}
      <TextInput
        label="Email address"
        type="email"
        autoComplete="username"
        value={invitation.email ?? email}
        onChange={(event) => setEmail(event.currentTarget.value)}
        readOnly={!isSetUp}
        required
        withAsterisk={false}
        error={faults.get('email')}
      />
      {isNew && (
        <TextInput
          label="Your name"
          autoComplete="name"
          maxLength={100}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          required
          withAsterisk={false}
          error={faults.get('name')}
        />
      )}
      <PasswordField
        isNew={isNew}
        label={isNew ? 'New password' : 'Your password'}
        value={password}
        onChange={setPassword}
        error={isWrong ? wrongPassword(isNew) : faults.get('password')}
      />
      {faults.size === 0 && !isWrong && <CallFault error={accept.error} />}
      <Button type="submit" loading={accept.isPending || enter.isPending}>
        {isSetUp && isNew ? 'Create sign-in' : 'Accept invitation'}
      </Button>
      <Button
        variant="subtle"
        onClick={() => {
          setIsNew(!isNew)
          setPassword('')
          accept.reset()
        }}
      >
        {isNew
          ? 'I already have a sign-in with this address'
          : hasSignIn
            ? 'That sign-in is not mine'
            : 'I am new here'}
      </Button>
    </Form>
  )
}

const wrongPassword = (isNew: boolean) =>
  isNew
    ? 'This address already has a sign-in, with another password.'
    : 'This is not the password of a sign-in with this address.'
