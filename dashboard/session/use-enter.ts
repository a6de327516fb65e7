import { useMutation } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { signIn } from './auth-calls.ts'

/** Signs in with a password that was just set. Without success, or with a second factor, the sign-in page follows. */
export function useEnter(password: string) {
  const navigate = useNavigate()
  return useMutation({
    mutationFn: (email: string) => signIn(email, password),
    onSuccess: ({ needsCode }) => void navigate({ to: needsCode ? '/sign-in' : '/' }),
    onError: () => void navigate({ to: '/sign-in' }),
  })
}
