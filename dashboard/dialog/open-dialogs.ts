import { useLayoutEffect, useState, useSyncExternalStore } from 'react'

/** The dialogs that are open, in the order in which they opened. */
let dialogs: readonly symbol[] = []
const listeners = new Set<() => void>()

function set(next: readonly symbol[]): void {
  dialogs = next
  for (const tell of listeners) tell()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Whether a dialog that opened later covers this one, such as the question for the password. */
export function useIsCovered(opened: boolean): boolean {
  const [id] = useState(() => Symbol('dialog'))
  useLayoutEffect(() => {
    if (!opened) return
    set([...dialogs, id])
    return () => set(dialogs.filter((each) => each !== id))
  }, [opened, id])
  return useSyncExternalStore(subscribe, () => dialogs.includes(id) && dialogs.at(-1) !== id)
}

/** The style of a dialog that is covered. */
export const HIDDEN = { display: 'none' }
