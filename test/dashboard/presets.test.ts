import { expect, test } from 'vitest'
import { withTimes } from '../../dashboard/range/presets.ts'

const NOW = Date.parse('2026-01-31T12:00:00Z')

test('a preset of a list begins before now and has no end', () => {
  expect(withTimes({ range: '24h', status: 'bounced' }, NOW)).toEqual({
    status: 'bounced',
    from: '2026-01-30T12:00:00.000Z',
    to: undefined,
  })
})

test('two times stay as they are, and an unknown preset is none', () => {
  const own = { from: '2026-01-30', to: '2026-01-31' }
  expect(withTimes(own, NOW)).toEqual(own)
  expect(withTimes({ range: '2y', tag: 'order' }, NOW)).toEqual({ tag: 'order' })
})
