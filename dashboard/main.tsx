import '@mantine/core/styles.layer.css'
import '@mantine/notifications/styles.layer.css'
import './look/look.css'
import { ConnectError } from '@connectrpc/connect'
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
      // An error code is an answer; only a call without one is repeated.
      retry: (failures, error) => reasonOf(error) === undefined && error instanceof ConnectError && failures < 2,
    },
  },
})

const transports = createTransports({
  confirm: confirmation.ask,
  signedOut() {
    confirmation.answer(false)
    const { pathname, href } = router.state.location
    if (pathname === '/sign-in') return
    void router.navigate({ to: '/sign-in', search: { back: href } })
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
