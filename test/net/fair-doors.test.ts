import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createFairDoor } from '../../net/fair-doors.ts'

const PLACES = 10

/** Strangers who come in this order, and those who were sent away. `busy` ones keep their places. */
function play(visits: { address: string; isBusy?: boolean }[]) {
  const strangers = createFairDoor({ places: () => PLACES })
  const away: string[] = []
  const refused: string[] = []
  visits.forEach(({ address, isBusy = false }, i) => {
    const id = `${address} ${i}`
    const stranger = { remoteAddress: address, isBusy: () => isBusy, sendAway: () => void away.push(id) }
    if (!strangers.enter(id, stranger)) refused.push(id)
  })
  return { strangers, away, refused }
}

const from = (network: number, count: number) =>
  Array.from({ length: count }, (_, i) => ({ address: `192.0.${network}.${i + 1}` }))

test('the longest silent connection of the network that holds most makes room', () => {
  const { away, refused } = play([...from(1, 3), ...from(2, 7), ...from(3, 1)])
  expect([away, refused]).toEqual([['192.0.2.1 3'], []])
})

test('between networks that hold about as much, the longest silent one goes', () => {
  const { away } = play([...from(1, 4), ...from(2, 6), ...from(3, 1)])
  expect(away).toEqual(['192.0.1.1 0'])
})

test('who speaks stays, and so does who is busy; where all are busy, the newcomer is refused', () => {
  const { strangers, away } = play(from(1, PLACES))
  strangers.note('192.0.1.1 0')
  strangers.enter('new', { remoteAddress: '192.0.2.1', isBusy: () => false, sendAway: () => {} })
  expect(away).toEqual(['192.0.1.2 1'])
  const busy = play([...from(1, PLACES).map((one) => ({ ...one, isBusy: true })), ...from(2, 1)])
  expect([busy.away, busy.refused]).toEqual([[], ['192.0.2.1 10']])
})

test('whatever strangers hold open, a newcomer finds a place', () => {
  const network = fc.integer({ min: 1, max: 3 })
  fc.assert(
    fc.property(fc.array(network, { maxLength: 60 }), (networks) => {
      const visits = [...from(9, 1), ...networks.map((n, i) => ({ address: `192.0.${n}.${(i % 200) + 1}` }))]
      const { strangers, away, refused } = play(visits)
      expect(refused).toEqual([])
      expect(strangers.size()).toBeLessThanOrEqual(PLACES)
      expect(away).toHaveLength(Math.max(0, visits.length - PLACES))
    }),
  )
})

interface Inside {
  id: string
  network: number
  isBusy: boolean
}

/** Those that spoke last come last. */
function longestSilent(inside: Inside[]): Inside | undefined {
  const held = (network: number) => inside.filter((one) => one.network === network).length
  const idle = inside.filter(({ isBusy }) => !isBusy)
  const ofLargest = (all: Inside[]) => {
    const most = Math.max(...all.map(({ network }) => held(network)))
    return idle.find(({ network }) => held(network) >= most - 2)
  }
  return ofLargest(inside) ?? ofLargest(idle)
}

test('it is the connection that a search through all of them finds', () => {
  const visit = fc.record({
    network: fc.integer({ min: 1, max: 4 }),
    isBusy: fc.boolean(),
    act: fc.constantFrom('enter', 'note', 'leave'),
    which: fc.nat(),
  })
  fc.assert(
    fc.property(fc.array(visit, { maxLength: 80 }), (visits) => {
      const door = createFairDoor({ places: () => PLACES })
      const inside: Inside[] = []
      for (const [i, { network, isBusy, act, which }] of visits.entries()) {
        const at = inside.length > 0 ? which % inside.length : 0
        if (act !== 'enter' && inside[at]) {
          const [one] = inside.splice(at, 1)
          if (act === 'note') inside.push(one!)
          door[act](one!.id)
          continue
        }
        const id = String(i)
        const expected = inside.length < PLACES ? undefined : longestSilent(inside)
        const isIn = door.enter(id, { remoteAddress: `192.0.${network}.1`, isBusy: () => isBusy, sendAway: () => {} })
        expect(isIn).toBe(inside.length < PLACES || expected !== undefined)
        if (expected) inside.splice(inside.indexOf(expected), 1)
        if (isIn) inside.push({ id, network, isBusy })
        expect(door.size()).toBe(inside.length)
      }
    }),
  )
})
