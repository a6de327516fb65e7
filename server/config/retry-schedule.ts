/**
 * The specification's retry schedule of webhooks. Each delay counts from the previous failure. All attempts are
 * within 24 hours.
 */
export const RETRY_SCHEDULE = [
  { attempt: 1, delay: 'immediate', delayMs: 0 },
  { attempt: 2, delay: '1 minute', delayMs: 60_000 },
  { attempt: 3, delay: '5 minutes', delayMs: 300_000 },
  { attempt: 4, delay: '15 minutes', delayMs: 900_000 },
  { attempt: 5, delay: '1 hour', delayMs: 3_600_000 },
  { attempt: 6, delay: '6 hours', delayMs: 21_600_000 },
] as const
