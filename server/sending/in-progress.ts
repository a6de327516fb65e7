import type { Send } from './send.ts'

export interface SendsInProgress {
  send: Send
  /** Resolves when no send is running. A send goes on after its marker even when its caller leaves. */
  idle(): Promise<void>
}

/** Keeps count of sends, so that a shutdown waits for every one of them. */
export function sendsInProgress(send: Send): SendsInProgress {
  const running = new Set<Promise<unknown>>()
  return {
    send(message, options) {
      const sending = send(message, options)
      running.add(sending)
      const ended = () => void running.delete(sending)
      sending.then(ended, ended)
      return sending
    },
    async idle() {
      while (running.size > 0) await Promise.allSettled(running)
    },
  }
}
