import { vi } from 'vitest'

/** Retries a check until it stops throwing, for as long as a busy machine may need. */
export function eventually<T>(check: () => T): Promise<Awaited<T>> {
  return vi.waitFor(check, { timeout: 20_000, interval: 10 }) as Promise<Awaited<T>>
}
