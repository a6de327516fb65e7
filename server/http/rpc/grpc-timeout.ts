const MAX_TIMER_MS = 2 ** 31 - 1
/** Milliseconds of the units of `grpc-timeout`. */
const UNITS: Record<string, number> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 }

/** The milliseconds of a `grpc-timeout`; undefined for text that is none. */
export function grpcTimeoutMs(text: string): number | undefined {
  const [, count, unit] = /^(\d{1,8})([HMSmun])$/.exec(text) ?? []
  return unit === undefined ? undefined : Number(count) * (UNITS[unit] ?? Number.NaN)
}

/** The milliseconds of `connect-timeout-ms`; undefined for text that is none. */
export const connectTimeoutMs = (text: string) => (/^\d{1,10}$/.test(text) ? Number(text) : undefined)

/** Whether a timeout is longer than any timer, 24 days. It then has no effect. */
export const isEndless = (timeoutMs: number) => timeoutMs > MAX_TIMER_MS
