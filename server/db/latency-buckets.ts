/**
 * Upper bounds, in milliseconds, of the buckets that count latencies: each half as wide again as the one before, from
 * 4 ms to 45 s. One more bucket counts everything above. Counts add up over hours, domains and processes; percentiles
 * do not.
 */
export const LATENCY_BOUNDS_MS: readonly number[] = Array.from({ length: 24 }, (_, i) => Math.round(4 * 1.5 ** i))

/** The column of each bucket. */
export const LATENCY_COLUMNS: readonly string[] = Array.from(
  { length: LATENCY_BOUNDS_MS.length + 1 },
  (_, i) => `latency_${i}`,
)
