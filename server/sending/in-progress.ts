import type { Send } from './send.ts'

export interface SendsInProgress {
  send: Send
  /** Resolves when no send is running. A send goes on after its marker even when its caller leaves. */
  idle(): Promise<void>
}

/** Tracks running sends, so that a shutdown waits for all of them. */
export function sendsInProgress(send: Send): SendsInProgress {
  const running = new Set<Promise<unknown>>()
  return {
    send(message, options) {
      const response = send(message, options)
      running.add(response)
      const remove = () => void running.delete(response)
      response.then(remove, remove)
      return response
    },
    async idle() {
      while (running.size > 0) await Promise.allSettled(running)
    },
  }
}
