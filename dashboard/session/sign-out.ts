import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { signOut } from './auth-calls.ts'

/** Signs out and forgets everything that was loaded. */
export function useSignOut(): () => Promise<void> {
  const queries = useQueryClient()
  const navigate = useNavigate()
  return async () => {
    await signOut()
    await navigate({ to: '/sign-in' })
    // The sign-in page has begun to load what it shows. What a page still holds is forgotten at the next sign-in.
    queries.removeQueries({ type: 'inactive' })
  }
}
