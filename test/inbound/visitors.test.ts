import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Visitors } from '../../server/inbound/visitors.ts'

const HALF = 32 * 1024

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

const client = (id: string, remoteAddress: string) => ({ id, remoteAddress })

/** A door with one place, in which a client sends `pieces`; then another one comes after `laterMs`. */
function isSentAway(pieces: number[], laterMs: number): boolean {
  const visitors = new Visitors({ connections: 1, connectionsPerNetwork: 10, totalMs: 60_000 })
  const first = client('first', '192.0.2.1')
  let isAway = false
  visitors.enter(first, () => {
    isAway = true
  })
  vi.advanceTimersByTime(20_000)
  for (const bytes of pieces) visitors.noteContent(first, bytes)
  vi.advanceTimersByTime(laterMs)
  visitors.enter(client('second', '198.51.100.1'), () => {})
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

test.each([
  [10_000, false],
  [10_001, true],
])('a client that sends 64 KiB in %i ms and holds the last place: sent away for a newcomer: %s', (ms, isSent) => {
  const visitors = new Visitors({ connections: 1, connectionsPerNetwork: 10, totalMs: 60_000 })
  const first = client('first', '192.0.2.1')
  let isAway = false
  visitors.enter(first, () => {
    isAway = true
  })
  vi.advanceTimersByTime(20_000)
  visitors.noteContent(first, HALF)
  vi.advanceTimersByTime(ms)
  visitors.noteContent(first, HALF)
  visitors.enter(client('second', '198.51.100.1'), () => {})
  expect(isAway).toBe(isSent)
})

test('the connections of one network are limited, and a refused one leaves nothing behind', () => {
  const visitors = new Visitors({ connections: 10, connectionsPerNetwork: 2, totalMs: 60_000 })
  const enter = (id: string, remoteAddress: string) => visitors.enter(client(id, remoteAddress), () => {})
  expect([enter('1', '192.0.2.1'), enter('2', '192.0.2.1'), enter('3', '192.0.2.1')]).toEqual([false, false, true])
  expect(enter('4', '198.51.100.1')).toBe(false)
  expect(vi.getTimerCount()).toBe(3)
  visitors.leave(client('2', '192.0.2.1'))
  expect(enter('5', '192.0.2.1')).toBe(false)
})

test('a client that is refused because all others are busy leaves no timer', () => {
  const visitors = new Visitors({ connections: 1, connectionsPerNetwork: 10, totalMs: 60_000 })
  const first = client('first', '192.0.2.1')
  visitors.enter(first, () => {})
  visitors.await(first, true)
  const sendAway = vi.fn()
  expect(visitors.enter(client('second', '198.51.100.1'), sendAway)).toBe(true)
  vi.advanceTimersByTime(60_000)
  expect(sendAway).not.toHaveBeenCalled()
})

test('a client is sent away when its time is over, unless it has left; then its place is free', () => {
  const visitors = new Visitors({ connections: 2, connectionsPerNetwork: 10, totalMs: 60_000 })
  const away: string[] = []
  const enter = (id: string) => visitors.enter(client(id, `192.0.2.${id}`), () => away.push(id))
  for (const id of ['1', '2']) enter(id)
  visitors.leave(client('1', '192.0.2.1'))
  expect(vi.getTimerCount()).toBe(1)
  vi.advanceTimersByTime(59_999)
  expect([enter('3'), away]).toEqual([false, []])
  vi.advanceTimersByTime(1)
  expect(away).toEqual(['2'])
  visitors.sendAway(client('3', '192.0.2.3'))
  expect(away).toEqual(['2', '3'])
})

test('the client that has been longest without a command makes room', () => {
  const visitors = new Visitors({ connections: 2, connectionsPerNetwork: 10, totalMs: 60_000 })
  const away: string[] = []
  const enter = (id: string) => visitors.enter(client(id, `192.0.2.${id}`), () => away.push(id))
  for (const id of ['1', '2']) enter(id)
  visitors.note(client('1', '192.0.2.1'))
  enter('3')
  expect(away).toEqual(['2'])
})

test('a connection may begin 100 mails and name 10 strangers, and one that has left none', () => {
  const visitors = new Visitors({ connections: 2, connectionsPerNetwork: 10, totalMs: 60_000 })
  const guest = client('1', '192.0.2.1')
  visitors.enter(guest, () => {})
  for (let i = 0; i < 100; i++) expect(visitors.mayBeginMail(guest)).toBe(true)
  expect(visitors.mayBeginMail(guest)).toBe(false)
  for (let i = 0; i < 10; i++) expect(visitors.hasTooManyStrangers(guest)).toBe(false)
  expect(visitors.hasTooManyStrangers(guest)).toBe(true)
  visitors.leave(guest)
  expect([visitors.mayBeginMail(guest), visitors.hasTooManyStrangers(guest)]).toEqual([false, true])
})

test('a client whose mail awaits our reply keeps its place', () => {
  const visitors = new Visitors({ connections: 1, connectionsPerNetwork: 10, totalMs: 60_000 })
  const away: string[] = []
  const first = client('first', '192.0.2.1')
  visitors.enter(first, () => away.push('first'))
  visitors.await(first, true)
  expect(visitors.enter(client('second', '198.51.100.1'), () => {})).toBe(true)
  visitors.await(first, false)
  expect(visitors.enter(client('third', '198.51.100.2'), () => {})).toBe(false)
  expect(away).toEqual(['first'])
})
