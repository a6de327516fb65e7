import { createContext, useContext } from 'react'

/** Asks for the password, for calls that need it to have been entered in the last ten minutes. */
export interface Confirmation {
  /** Resolves to whether the server has accepted the password. Calls that ask at the same time share one question. */
  ask(): Promise<boolean>
  /** Ends the question. */
  answer(confirmed: boolean): void
  isAsked(): boolean
  subscribe(listener: () => void): () => void
}

export function createConfirmation(): Confirmation {
  const listeners = new Set<() => void>()
  let open: PromiseWithResolvers<boolean> | undefined
  const set = (next: typeof open) => {
    open = next
    for (const tell of listeners) tell()
  }
  return {
    ask() {
      if (!open) set(Promise.withResolvers<boolean>())
      return open!.promise
    },
    answer(confirmed) {
      open?.resolve(confirmed)
      set(undefined)
    },
    isAsked: () => open !== undefined,
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

export const ConfirmationContext = createContext<Confirmation | undefined>(undefined)

export function useConfirmation(): Confirmation {
  return useContext(ConfirmationContext)!
}
