import { setTimeout as sleep } from 'node:timers/promises'
import type { ClientEntry } from '../reliability/logs.ts'
import { endOf, MARKER, messageOf, type Point, startOf } from './points.ts'
import { endLeases, openRows } from './snapshot.ts'
import type { World } from './world.ts'

export const PAUSES = {
  before: { name: 'before the marker', is: messageOf('mail', 'down', /^354/m) },
  between: { name: 'between marker and dot', is: endOf(MARKER) },
  after: { name: 'after the dot', is: messageOf('mail', 'up', /(^|\r\n)\.\r\n$/) },
} satisfies Record<string, Point>

export interface Paused {
  entry: ClientEntry
  /** Whether it asked for a marker after it had been resumed. */
  askedLate: boolean
}

/**
 * Stops a process with SIGSTOP at a point of a send, for as long as it takes until the sweeper of another one has settled the
 * message, and then lets it go on. `waits`: until the lease is truly over, instead of ending it from outside. `alone`: there is no
 * other process, it goes on when its lease is over.
 */
export async function pauseAt(world: World, point: Point, { waits = false, alone = false } = {}): Promise<Paused> {
  const request = `paused-${point.name.replaceAll(' ', '-')}`
  // One site, so that there is one marker.
  const letter = { request, to: [`ann.${request}@one.example`, `bob.${request}@one.example`], text: 'All is well.' }
  // The shortest budget there is, so that a lease is half a minute.
  const node = await world.start({ SEND_BUDGET_MS: '20000' })
  let state: 'running' | 'paused' | 'resumed' = 'running'
  let askedLate = false
  const paused = new Promise<void>((resolve) => {
    node.wire.onEvent = (event) => {
      if (state === 'resumed') askedLate ||= startOf(MARKER)(event)
      if (state !== 'running' || !point.is(event)) return undefined
      state = 'paused'
      node.pause()
      resolve()
      return undefined
    }
  })
  const sent = node.client.send(letter)
  await Promise.race([paused, sent])
  if (state === 'running') throw new Error(`the send never came to ${point.name}`)
  if (!waits) await endLeases(world.sql, { requests: [request] })
  if (!alone) await settledByOthers(world, request)
  state = 'resumed'
  node.resume()
  return { entry: await sent, askedLate }
}

async function settledByOthers({ sql }: World, request: string): Promise<void> {
  const deadline = performance.now() + 60_000
  while ((await openRows(sql)).some((row) => row.request === request)) {
    if (performance.now() > deadline) throw new Error(`nobody settles ${request}`)
    await sleep(50)
  }
}
