import { createBoundedMap } from '../../net/bounded-map.ts'
import type { Host } from './attempt.ts'

/** Hosts that were found out about lately: those that fail STARTTLS, and those that are silent. */
export type HostMemory = ReturnType<typeof createHostMemory>

const keyOf = ({ name, port }: Host) => `${name}:${port}`

/** @param rememberMs how long a host stays in it */
export function createHostMemory(rememberMs: number, maxEntries = 1_000) {
  const untilMs = createBoundedMap<number>({ maxEntries })
  return {
    has: (host: Host) => (untilMs.get(keyOf(host)) ?? 0) > performance.now(),
    add: (host: Host) => untilMs.set(keyOf(host), performance.now() + rememberMs),
    forget: (host: Host) => void untilMs.delete(keyOf(host)),
  }
}
