import { useQuery } from '@connectrpc/connect-query'
import { Navigate } from '@tanstack/react-router'
import { PersonService } from '../../gen/verdict/admin/v1/person_pb.ts'
import { ErrorState } from '../feedback/error-state.tsx'
import { NarrowPage } from '../frame/narrow-page.tsx'
import { SignOutButton } from '../session/sign-out-button.tsx'
import { firstAccount } from './account.ts'

/** Opens the account that was open last. */
export function FirstAccount() {
  const person = useQuery(PersonService.method.getPerson)
  if (person.error) {
    return (
      <NarrowPage title="Verdict">
        <ErrorState error={person.error} retry={() => void person.refetch()} />
      </NarrowPage>
    )
  }
  if (!person.data) return null
  const account = firstAccount(person.data.accounts)
  if (account) return <Navigate to="/$account" params={{ account: account.accountId }} replace />
  return (
    <NarrowPage title="You belong to no account">
      <p className="soft">Ask an owner of an account for an invitation to {person.data.email}.</p>
      <SignOutButton />
    </NarrowPage>
  )
}
