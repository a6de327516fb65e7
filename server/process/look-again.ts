import { runEvery } from '../async/run-every.ts'

/** Calls `look` on SIGHUP and at an interval, until the process ends. `isAsked` says that it was SIGHUP. */
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
