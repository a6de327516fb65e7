import type { App } from '../http/app.ts'
import type { Call } from '../http/call.ts'
import type { Metrics } from './metrics.ts'

/** Counts each call when it has ended. */
export function createCallCounter(metrics: Metrics): (call: Call) => void {
  const names = new Map<Call['method'], string>()
  return ({ method, protocol, code, startedAt }) => {
    let rpc = names.get(method)
    if (rpc === undefined) {
      rpc = method ? `${method.parent.name}/${method.name}` : 'none'
      names.set(method, rpc)
    }
    metrics.calls.add({ rpc, protocol, code })
    metrics.callSeconds.observe({ protocol }, (performance.now() - startedAt) / 1_000)
  }
}

/** Shows what callers take of a server at this moment. */
export function watchCalls(metrics: Metrics, app: App, connections: () => number): void {
  metrics.callsInFlight.read(() => [[{}, app.inFlight.size]])
  metrics.httpConnections.read(() => [[{}, connections()]])
  metrics.bodyBytes.read(() => {
    const usedShare = ({ inUse, totalBytes }: App['bodyBudget']) => inUse() / totalBytes
    const [fuller] = [app.bodyBudget, app.smallBodyBudget].toSorted((a, b) => usedShare(b) - usedShare(a))
    return [
      [{ state: 'used' }, fuller!.inUse()],
      [{ state: 'limit' }, fuller!.totalBytes],
    ]
  })
}
