import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { LoadingBlock } from '../feedback/loading.tsx'
import { NarrowPage } from '../frame/narrow-page.tsx'
import { finishOidc } from './auth-calls.ts'
import { AuthFaultNote } from './auth-fault-note.tsx'
import { BackToSignIn } from './back-to-sign-in.tsx'
import { CodeForm } from './code-form.tsx'
import { dashboardPath } from './dashboard-path.ts'

/** The page that the issuer of OpenID Connect sends the browser back to. It finishes the visit and moves on. */
export function OidcPage() {
  const [response] = useState(() => location.search.slice(1))
  const router = useRouter()
  const queries = useQueryClient()
  // A query, because a response works once: the page may be rendered twice.
  const end = useQuery({
    queryKey: ['oidc', response],
    queryFn: () => finishOidc(response),
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  })
  const enter = () => {
    queries.clear()
    router.history.replace(dashboardPath(end.data?.back))
  }
  const isDone = end.data !== undefined && !end.data.twoFactorRedirect
  // biome-ignore lint/correctness/useExhaustiveDependencies: it goes on once.
  useEffect(() => {
    if (isDone) enter()
  }, [isDone])
  if (end.error) {
    return (
      <NarrowPage title="You are not signed in">
        <AuthFaultNote error={end.error} />
        <BackToSignIn />
      </NarrowPage>
    )
  }
  if (end.data?.twoFactorRedirect) {
    return (
      <NarrowPage title="Enter a code">
        <CodeForm onDone={enter} onStartAgain={() => void router.navigate({ to: '/sign-in' })} />
      </NarrowPage>
    )
  }
  return (
    <NarrowPage title="Signing in">
      <LoadingBlock height={120} />
    </NarrowPage>
  )
}
