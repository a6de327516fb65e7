export interface StopSignals {
  first: Promise<void>
  second: Promise<void>
}

/** npm passes on the Ctrl-C that the terminal has sent to us as well: what follows so soon is no second one. */
const SAME_WITHIN_MS = 500

/** Ctrl-C and its kin: the first asks to stop, the second not to wait. */
export function stopSignals(): StopSignals {
  const first = Promise.withResolvers<void>()
  const second = Promise.withResolvers<void>()
  let firstAtMs: number | undefined
  const told = () => {
    if (firstAtMs === undefined) {
      firstAtMs = performance.now()
      first.resolve()
    } else if (performance.now() - firstAtMs > SAME_WITHIN_MS) second.resolve()
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, told)
  return { first: first.promise, second: second.promise }
}
