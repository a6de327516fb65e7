import { pauseFor } from '../harness/waits.ts'
import type { ClientEntry } from '../reliability/logs.ts'
import { endOf, MARKER, messageOf, type Point, startOf } from './points.ts'
import { endLeases, openRows } from './snapshot.ts'
import type { World } from './world.ts'

export const PAUSES = {
  before: { name: 'before the marker', is: messageOf('mail', 'down', /^354/m) },
  between: { name: 'between marker and dot', is: endOf(MARKER) },
  after: { name: 'after the dot', is: messageOf('mail', 'up', /(^|\r\n)\.\r\n$/) },
} satisfies Record<string, Point>

export interface PauseResult {
  entry: ClientEntry
  /** Whether the process tried to set a marker after it was resumed. */
  triedMarkerLate: boolean
}

/**
 * Stops a process with SIGSTOP at a point of a send, and resumes it when the sweeper of another process has settled the
 * message. `waits`: the lease expires by itself instead of being ended from outside. `alone`: there is no other
 * process, and the process is resumed as soon as its lease is over.
 */
export async function pauseAt(world: World, point: Point, { waits = false, alone = false } = {}): Promise<PauseResult> {
  const request = `paused-${point.name.replaceAll(' ', '-')}`
  // One domain, so that there is one marker.
  const letter = { request, to: [`ann.${request}@one.example`, `bob.${request}@one.example`], text: 'All is well.' }
  // To wait for the end of a lease, the shortest budget that is allowed: a lease takes half a minute. Otherwise the
  // usual one: the mail server's reply to DATA is waited for longer than another process takes to settle the message.
  const node = await world.start(waits ? { SEND_BUDGET_MS: '20000' } : {})
  let state: 'running' | 'paused' | 'resumed' = 'running'
  let triedMarkerLate = false
  const pause = new Promise<void>((resolve) => {
    node.wire.onEvent = (event) => {
      if (state === 'resumed') triedMarkerLate ||= startOf(MARKER)(event)
      if (state !== 'running' || !point.is(event)) return undefined
      state = 'paused'
      node.pause()
      resolve()
      return undefined
    }
  })
  const send = node.client.send(letter)
  await Promise.race([pause, send])
  if (state === 'running') throw new Error(`the send never reached the point ${point.name}`)
  if (!waits) await endLeases(world.sql, { requests: [request] })
  if (!alone) await waitUntilSettled(world, request)
  state = 'resumed'
  node.resume()
  return { entry: await send, triedMarkerLate }
}

async function waitUntilSettled({ sql }: World, request: string): Promise<void> {
  const deadline = performance.now() + 60_000
  while ((await openRows(sql)).some((row) => row.request === request)) {
    if (performance.now() > deadline) throw new Error(`no process settles ${request}`)
    await pauseFor(50)
  }
}
