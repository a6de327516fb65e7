import { createContext, useContext } from 'react'
import { present } from '../present.ts'
import type { Question } from '../question/question.ts'

/** Asks for the password, for calls that need it to have been entered in the last ten minutes. */
export const ConfirmationContext = createContext<Question | undefined>(undefined)

export function useConfirmation(): Question {
  return present(useContext(ConfirmationContext))
}
