import { createContext, useContext } from 'react'
import { present } from '../present.ts'
import { createQuestion, type Question } from '../question/question.ts'

/** Asks a person whose session has ended to sign in again, above the page with all that was typed there. */
export const createSessionEnd = createQuestion

export const SessionEndContext = createContext<Question | undefined>(undefined)

export function useSessionEnd(): Question {
  return present(useContext(SessionEndContext))
}
