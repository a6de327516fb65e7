import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createVisitors } from '../../server/inbound/visitors.ts'

const HALF = 32 * 1024

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

/** A door with one place, in which a client sends `pieces`; then another one comes after `laterMs`. */
function isSentAway(pieces: number[], laterMs: number): boolean {
  const visitors = createVisitors({ connections: 1, connectionsPerNetwork: 10, totalMs: 60_000 })
  const first = { id: 'first', remoteAddress: '192.0.2.1' }
  let isAway = false
  visitors.enter(first, () => {
    isAway = true
  })
  vi.advanceTimersByTime(20_000)
  for (const bytes of pieces) visitors.noteContent(first, bytes)
  vi.advanceTimersByTime(laterMs)
  visitors.enter({ id: 'second', remoteAddress: '198.51.100.1' }, () => {})
  visitors.leave(first)
  return isAway
}

test.each([
  ['64 KiB', [HALF, HALF], 0, false],
  ['64 KiB in the last 10 s', [HALF, HALF], 10_000, false],
  ['64 KiB more than 10 s ago', [HALF, HALF], 10_001, true],
  ['less than 64 KiB', [HALF, HALF - 1], 0, true],
  ['nothing', [], 0, true],
])('a client that has sent %s and holds the last place: sent away for a newcomer: %s', (_, pieces, laterMs, isAway) => {
  expect(isSentAway(pieces, laterMs)).toBe(isAway)
})

test('a client whose mail awaits our reply keeps its place', () => {
  const visitors = createVisitors({ connections: 1, connectionsPerNetwork: 10, totalMs: 60_000 })
  const away: string[] = []
  const client = (id: string, remoteAddress: string) => ({ id, remoteAddress })
  const first = client('first', '192.0.2.1')
  visitors.enter(first, () => away.push('first'))
  visitors.await(first, true)
  expect(visitors.enter(client('second', '198.51.100.1'), () => {})).toBe(true)
  visitors.await(first, false)
  expect(visitors.enter(client('third', '198.51.100.2'), () => {})).toBe(false)
  expect(away).toEqual(['first'])
})
