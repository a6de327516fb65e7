import { isMarkedAsUntransferable } from 'node:worker_threads'

/** The buffers in a value that can be moved to another thread: all but Node's own, in which many small ones lie. */
export function transferableIn(value: unknown, found = new Set<ArrayBuffer>()): ArrayBuffer[] {
  if (value instanceof Uint8Array) {
    const { buffer } = value
    if (buffer instanceof ArrayBuffer && !isMarkedAsUntransferable(buffer)) found.add(buffer)
  } else if (typeof value === 'object' && value !== null) {
    for (const one of Object.values(value)) transferableIn(one, found)
  }
  return [...found]
}
