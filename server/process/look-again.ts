import { runEvery } from '../async/run-every.ts'

/** Looks at files on SIGHUP, when `isAsked` is true, and at an interval, until the process ends. */
export function lookAgain(
  ends: AsyncDisposableStack,
  everyMs: number,
  look: (isAsked: boolean) => void,
  onError: (error: unknown) => void = () => {},
): void {
  const onHangUp = () => look(true)
  process.on('SIGHUP', onHangUp)
  const timer = runEvery(everyMs, async () => look(false), onError)
  ends.defer(() => {
    process.off('SIGHUP', onHangUp)
    timer.stop()
  })
}
