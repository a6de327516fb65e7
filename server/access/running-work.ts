import { fail } from '../errors.ts'

/** The most replays of an account that run at a time, and the most imports. */
export const MAX_RUNNING = 5
const RETRY_SECONDS = 60

const HOW_TO_GO_ON = {
  replay: 'Cancel one of them, or wait until one has ended.',
  import: 'Cancel one of them, or choose its file again to finish it.',
}

/** Throws `rate_limit_exceeded` when an account has as many running replays, or imports, as it may. */
export function refuseMore(kind: 'replay' | 'import', running: number): void {
  if (running < MAX_RUNNING) return
  const message = `This account has ${running} running ${kind}s, and it can have ${MAX_RUNNING}. ${HOW_TO_GO_ON[kind]}`
  throw fail('rate_limit_exceeded', message, { retryAfterSeconds: RETRY_SECONDS })
}
