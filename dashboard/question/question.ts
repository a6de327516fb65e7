/** A question to the person, for calls that go on when it is answered. */
export interface Question {
  /** Resolves to whether it was answered as the call needs it. Calls that ask at the same time share one question. */
  ask(): Promise<boolean>
  /** Ends the question. */
  answer(confirmed: boolean): void
  isAsked(): boolean
  subscribe(listener: () => void): () => void
}

export function createQuestion(): Question {
  const listeners = new Set<() => void>()
  let open: PromiseWithResolvers<boolean> | undefined
  const set = (next: typeof open) => {
    open = next
    for (const tell of listeners) tell()
  }
  return {
    ask() {
      const question = open ?? Promise.withResolvers<boolean>()
      if (!open) set(question)
      return question.promise
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
