import type { Pace } from './pace.ts'
import type { PostsRun, TimedResponse } from './posts.ts'
import type { Worker } from './process.ts'
import { isDelivered, sendBody } from './sends.ts'

/** Where the sends go: a product, or one of its APIs. */
type Target = Pick<PostsRun, 'port' | 'key'>

/**
 * Sends messages at a pace. Returns how long each took from when it was due, in ms. Throws when one was not
 * delivered.
 */
export async function pacedSends(
  posts: Worker<PostsRun, TimedResponse[]>,
  { port, key }: Target,
  pace: Pace,
): Promise<number[]> {
  const sends = await posts.ask({ port, key, path: '/api/v1/emails/send', bodies: [sendBody()], pace })
  if (!sends.every(isDelivered)) throw new Error('Not every message was delivered.')
  return sends.map(({ dueMs, respondedMs }) => respondedMs - dueMs)
}
