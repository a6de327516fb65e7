import { createClient, type Transport } from '@connectrpc/connect'
import { useQuery as useConnectQuery } from '@connectrpc/connect-query'
import { useQuery } from '@tanstack/react-query'
import { Navigate, useParams } from '@tanstack/react-router'
import { useContext } from 'react'
import { PersonService } from '../../gen/verdict/admin/v1/person_pb.ts'
import { EmailService } from '../../gen/verdict/v1/emails_pb.ts'
import { AccountTransports } from '../account/account-transports.ts'
import { errorCodeOf } from '../feedback/call-error.ts'
import { ErrorState } from '../feedback/error-state.tsx'
import { SlowNote } from '../feedback/loading.tsx'
import { NarrowPage } from '../frame/narrow-page.tsx'
import { present } from '../present.ts'

/** Opens a message whose address does not name its account, as the command line prints it. */
export function FindMessage() {
  const { message } = useParams({ from: '/messages/$message' })
  const transports = useContext(AccountTransports)
  const person = useConnectQuery(PersonService.method.getPerson)
  const ids = person.data?.accounts.map(({ accountId }) => accountId)
  const account = useQuery({
    queryKey: ['account of message', message, ids],
    queryFn: () => accountOf(message, present(ids), transports),
    enabled: ids !== undefined,
    retry: false,
  })
  const failed = person.error ? person : account.error ? account : undefined
  if (account.data)
    return <Navigate to="/$account/messages/$message" params={{ account: account.data, message }} replace />
  return (
    <NarrowPage title="Message">
      {failed ? (
        <ErrorState error={failed.error} retry={() => void failed.refetch()} />
      ) : account.data === null ? (
        <p className="soft">No account that you belong to has this message.</p>
      ) : (
        <SlowNote />
      )}
    </NarrowPage>
  )
}

/** The account that has a message; null when none has. */
async function accountOf(id: string, accountIds: string[], transports: (accountId: string) => Transport) {
  for (const accountId of accountIds) {
    try {
      await createClient(EmailService, transports(accountId)).getEmail({ id })
      return accountId
    } catch (error) {
      if (errorCodeOf(error) !== 'not_found') throw error
    }
  }
  return null
}
