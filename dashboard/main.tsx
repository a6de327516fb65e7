import '@mantine/core/styles.layer.css'
import '@mantine/notifications/styles.layer.css'
import './look/look.css'
import { Code, ConnectError } from '@connectrpc/connect'
import { TransportProvider } from '@connectrpc/connect-query'
import { MantineProvider } from '@mantine/core'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { lazy, StrictMode, Suspense } from 'react'
import { createRoot } from 'react-dom/client'
import { AccountTransports } from './account/account-transports.ts'
import { ConfirmationContext, createConfirmation } from './confirmation/confirmation.ts'
import { PasswordQuestion } from './confirmation/password-question.tsx'
import { reasonOf } from './feedback/call-error.ts'
import { nonce } from './look/nonce.ts'
import { theme, variables } from './look/theme.ts'
import { createPages } from './routes.tsx'
import { createTransports } from './transport.ts'

// What a first page does not show is loaded after it.
const Notices = lazy(async () => ({ default: (await import('./feedback/notices.tsx')).Notices }))

const confirmation = createConfirmation()
const router = createPages()
const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // An error code is an answer, and a call that ran out of time was long enough: only others are repeated.
      retry: (failures, error) =>
        error instanceof ConnectError &&
        reasonOf(error) === undefined &&
        error.code !== Code.DeadlineExceeded &&
        failures < 2,
    },
  },
})

const transports = createTransports({
  confirm: confirmation.ask,
  signedOut() {
    confirmation.answer(false)
    const { pathname, href } = router.state.location
    if (pathname === '/sign-in') return
    // A first visit has no session that could have ended.
    const hadSession = queries.getQueriesData({}).some(([, data]) => data !== undefined)
    void router.navigate({ to: '/sign-in', search: { back: href, ended: hadSession ? 'true' : undefined } })
  },
})

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      cssVariablesResolver={variables}
      defaultColorScheme="auto"
      getStyleNonce={() => nonce}
      withGlobalClasses={false}
    >
      <QueryClientProvider client={queries}>
        <TransportProvider transport={transports()}>
          <AccountTransports value={transports}>
            <ConfirmationContext value={confirmation}>
              <RouterProvider router={router} />
              <PasswordQuestion />
              <Suspense>
                <Notices />
              </Suspense>
            </ConfirmationContext>
          </AccountTransports>
        </TransportProvider>
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
)
