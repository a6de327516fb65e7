import '@mantine/core/styles.layer.css'
import '@mantine/notifications/styles.layer.css'
import './look/look.css'
import { createConnectQueryKey, TransportProvider } from '@connectrpc/connect-query'
import { MantineProvider } from '@mantine/core'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { lazy, StrictMode, Suspense } from 'react'
import { createRoot } from 'react-dom/client'
import { PersonService } from '../gen/verdict/admin/v1/person_pb.ts'
import { AccountTransports } from './account/account-transports.ts'
import { ConfirmationContext } from './confirmation/confirmation.ts'
import { nonce } from './look/nonce.ts'
import { cssVariables, theme } from './look/theme.ts'
import { Asked } from './question/asked.tsx'
import { createQuestion } from './question/question.ts'
import { isRepeated, repeatAfterMs } from './repeats.ts'
import { createPages } from './routes.tsx'
import { createTransports } from './transport.ts'

// What a first page does not show is loaded after it.
const Notices = lazy(async () => ({ default: (await import('./feedback/notices.tsx')).Notices }))
const PasswordDialog = lazy(async () => ({
  default: (await import('./confirmation/password-dialog.tsx')).PasswordDialog,
}))
const SignInDialog = lazy(async () => ({ default: (await import('./session/sign-in-dialog.tsx')).SignInDialog }))

const confirmation = createQuestion()
/** Asks a person whose session has ended to sign in again, above the page with all that was typed there. */
const sessionEnd = createQuestion()
const router = createPages()
const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      retry: isRepeated,
      retryDelay: repeatAfterMs,
    },
  },
})

const transports = createTransports({ confirm: confirmation.ask, signInAgain })

/** Asks a person whose session has ended to sign in above the page. Without a person it leads to the sign-in page. */
async function signInAgain(): Promise<boolean> {
  const isOnSignIn = () => router.state.location.pathname === '/sign-in'
  if (isOnSignIn()) return false
  const queryKey = createConnectQueryKey({ schema: PersonService.method.getPerson, cardinality: undefined })
  const isKnown = queries.getQueriesData({ queryKey }).some(([, person]) => person !== undefined)
  if (isKnown && (await sessionEnd.ask())) return true
  confirmation.answer(false)
  if (!isOnSignIn()) void router.navigate({ to: '/sign-in', search: { back: router.state.location.href } })
  return false
}

router.subscribe('onBeforeNavigate', ({ toLocation }) => {
  if (toLocation.pathname === '/sign-in') sessionEnd.answer(false)
})

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      cssVariablesResolver={cssVariables}
      defaultColorScheme="auto"
      getStyleNonce={() => nonce}
      withGlobalClasses={false}
    >
      <QueryClientProvider client={queries}>
        <TransportProvider transport={transports()}>
          <AccountTransports value={transports}>
            <ConfirmationContext value={confirmation}>
              <RouterProvider router={router} />
              <Asked question={confirmation}>
                <PasswordDialog />
              </Asked>
              <Asked question={sessionEnd}>
                <SignInDialog question={sessionEnd} />
              </Asked>
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
