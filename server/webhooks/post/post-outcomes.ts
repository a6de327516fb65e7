/** How a POST to an endpoint can go. */
export const POST_OUTCOMES = [
  'acked',
  'dns',
  'blocked',
  'tls',
  'connect',
  'timeout_head',
  'timeout_body',
  'not_200',
  'success_but_not_200',
] as const

export type PostOutcome = (typeof POST_OUTCOMES)[number]

/** How an attempt ended, as it is stored. `unknown`: the process that made the attempt ended first. */
export type StoredOutcome = PostOutcome | 'unknown'
