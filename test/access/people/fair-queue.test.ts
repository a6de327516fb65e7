import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createFairQueue, type GroupPath } from '../../../server/access/people/fair-queue.ts'

function queueOf(...items: [groups: GroupPath, item: string][]) {
  const queue = createFairQueue<string>()
  for (const [groups, item] of items) queue.add(groups, item)
  return queue
}

const takeAll = (queue: ReturnType<typeof queueOf>) => Array.from({ length: queue.size() }, () => queue.take())

test('groups take turns, and the items of a group come in order', () => {
  const queue = queueOf([['a'], 'a1'], [['a'], 'a2'], [['a'], 'a3'], [['b'], 'b1'], [['b'], 'b2'], [['c'], 'c1'])
  expect(takeAll(queue)).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3'])
  expect(queue.take()).toBeUndefined()
})

test('many small groups of one large group have together the turns of one', () => {
  const many = Array.from({ length: 9 }, (_, i): [GroupPath, string] => [['48', `56-${i % 3}`, `64-${i}`], `m${i}`])
  const queue = queueOf(...many, [['other'], 'o1'], [['other'], 'o2'])
  expect(takeAll(queue).slice(0, 4)).toEqual(['m0', 'o1', 'm1', 'o2'])
})

test('the newest item of the largest group leaves first', () => {
  const queue = queueOf(
    [['a', 'x'], 'ax1'],
    [['a', 'y'], 'ay1'],
    [['a', 'y'], 'ay2'],
    [['b', 'z'], 'b1'],
    [['b', 'z'], 'b2'],
  )
  expect(queue.takeFromLargest()).toBe('ay2')
  expect(queue.takeFromLargest()).toBe('b2')
  queue.add(['c', 'z'], 'c1')
  expect(takeAll(queue).sort()).toEqual(['ax1', 'ay1', 'b1', 'c1'])
})

test('whatever happens, no item is lost or taken twice, and a group waits for one turn of each other group', () => {
  const name = fc.constantFrom('1', '2', '3')
  const step = fc.oneof(
    fc.record({ kind: fc.constant('add' as const), groups: fc.tuple(name, name) }),
    fc.record({ kind: fc.constantFrom('take' as const, 'largest' as const, 'remove' as const) }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const queue = createFairQueue<number>()
      const waiting = new Map<number, GroupPath>()
      const turnsSince = new Map<string, number>()
      steps.forEach((step, item) => {
        if (step.kind === 'add') {
          queue.add(step.groups, item)
          waiting.set(item, step.groups)
        } else if (step.kind === 'remove') {
          const [first] = waiting
          if (first) queue.remove(first[1], first[0])
          queue.remove(['1', '1'], -1)
          if (first) waiting.delete(first[0])
        } else {
          const taken = step.kind === 'take' ? queue.take() : queue.takeFromLargest()
          expect(taken === undefined).toBe(waiting.size === 0)
          if (taken === undefined) return
          const [group] = waiting.get(taken)!
          expect(waiting.delete(taken)).toBe(true)
          const others = new Set([...waiting.values()].map(([name]) => name))
          for (const name of others) turnsSince.set(name, step.kind === 'take' ? (turnsSince.get(name) ?? 0) + 1 : 0)
          turnsSince.set(group, 0)
          for (const name of others) expect(turnsSince.get(name)).toBeLessThanOrEqual(3)
        }
        for (const name of turnsSince.keys())
          if (![...waiting.values()].some(([group]) => group === name)) turnsSince.delete(name)
        expect(queue.size()).toBe(waiting.size)
      })
    }),
  )
})
