import { constants } from 'node:os'
import type { Logger } from 'pino'

type StopSignal = 'SIGINT' | 'SIGTERM'

export interface StopSignals {
  /** Resolves with the first signal: stop, and finish the accepted work. */
  first: Promise<StopSignal>
  /** Resolves with the next one: stop at once. */
  second: Promise<StopSignal>
}

/**
 * npm repeats a Ctrl-C that the terminal has already sent to us. A signal this soon after the first is the same one.
 */
const SAME_WITHIN_MS = 500

/** Listens for SIGINT and SIGTERM. Until this is called, both end the process as usual. */
export function stopSignals(): StopSignals {
  const first = Promise.withResolvers<StopSignal>()
  const second = Promise.withResolvers<StopSignal>()
  let firstAtMs: number | undefined
  const receive = (signal: StopSignal) => {
    if (firstAtMs === undefined) {
      firstAtMs = performance.now()
      first.resolve(signal)
    } else if (performance.now() - firstAtMs > SAME_WITHIN_MS) second.resolve(signal)
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, receive)
  return { first: first.promise, second: second.promise }
}

/**
 * Keeps the process running when its terminal closes: SIGHUP is not a request to stop. Call it before anything else.
 */
export function surviveHangUp(): void {
  process.on('SIGHUP', () => {})
  // Output to a closed terminal fails, and that must not end the process either.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => {})
}

/**
 * Runs `drain` after the first signal and then ends the process. When the drain fails, `log` gets the error with this
 * text, and the exit code is 1. The second signal ends the process at once.
 */
export function drainWhenStopped(drain: () => Promise<void>, { log, fault }: { log: Logger; fault: string }): void {
  const { first, second } = stopSignals()
  first.then(drain).then(
    () => endProcess(0, log),
    (error) => {
      log.fatal({ err: error }, fault)
      endProcess(1, log)
    },
  )
  // The exit code a shell gives a process that died of the signal.
  void second.then((signal) => endProcess(128 + constants.signals[signal], log))
}

/** How long what reads the log has for the last lines. */
const LAST_LINES_MS = 3_000

/** Ends the process when its log is written. An exit waits for a write without end, and so for a reader that stalls. */
export function endProcess(code: number, log: Logger): void {
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), LAST_LINES_MS)
  log.flush(() => process.exit(code))
}
