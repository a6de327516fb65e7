import { createContext, useContext } from 'react'
import { createQuestion, type Question } from '../question/question.ts'

/** Asks a person whose session has ended to sign in again, above the page with all that was typed there. */
export function createSessionEnd(): Question {
  const question = createQuestion()
  // It is called before the listeners of all dialogs, or Escape would close the one below the question.
  const keepBelow = (event: KeyboardEvent) => {
    if (event.key === 'Escape' && question.isAsked()) event.stopImmediatePropagation()
  }
  addEventListener('keydown', keepBelow, { capture: true })
  return question
}

export const SessionEndContext = createContext<Question | undefined>(undefined)

export function useSessionEnd(): Question {
  return useContext(SessionEndContext)!
}
