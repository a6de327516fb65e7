import { TransportProvider, useQuery } from '@connectrpc/connect-query'
import { Outlet, useParams } from '@tanstack/react-router'
import { useContext, useEffect } from 'react'
import { PersonService } from '../../gen/verdict/admin/v1/person_pb.ts'
import { ErrorState } from '../feedback/error-state.tsx'
import { SlowNote } from '../feedback/loading.tsx'
import styles from '../frame/frame.module.css'
import { Frame } from '../frame/frame.tsx'
import { NarrowPage } from '../frame/narrow-page.tsx'
import { NoSuchPage } from '../frame/no-such-page.tsx'
import { AccountContext, rememberAccount } from './account.ts'
import { AccountTransports } from './account-transports.ts'

/** The pages of the account that the address names. Their calls are about this account. */
export function AccountPages() {
  const { account: accountId } = useParams({ from: '/$account' })
  const transports = useContext(AccountTransports)
  const person = useQuery(PersonService.method.getPerson, {}, { staleTime: 60_000 })
  const membership = person.data?.accounts.find((one) => one.accountId === accountId)

  useEffect(() => {
    if (membership) rememberAccount(membership.accountId)
  }, [membership])

  // While the call is repeated, the page says already what is wrong.
  const fault = person.error ?? person.failureReason
  if (fault && !person.data) {
    return (
      <NarrowPage title="Verdict">
        <ErrorState error={fault} retry={() => void person.refetch()} />
      </NarrowPage>
    )
  }
  if (!person.data) {
    return (
      <div role="status" className={styles.narrow}>
        <SlowNote />
      </div>
    )
  }
  if (!membership) return <NoSuchPage />
  return (
    <TransportProvider transport={transports(accountId)} key={accountId}>
      <AccountContext value={{ person: person.data, membership }}>
        <Frame>
          <Outlet />
        </Frame>
      </AccountContext>
    </TransportProvider>
  )
}
