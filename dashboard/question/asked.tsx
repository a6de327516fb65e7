import { type ReactNode, Suspense, useSyncExternalStore } from 'react'
import type { Question } from './question.ts'

interface AskedProps {
  question: Question
  children: ReactNode
}

/** Shows the dialog of a question while it is open, whatever page it is of. */
export function Asked({ question: { subscribe, isAsked }, children }: AskedProps) {
  const isOpen = useSyncExternalStore(subscribe, isAsked)
  return <Suspense>{isOpen && children}</Suspense>
}
