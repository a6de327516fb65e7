import { expect, test } from 'vitest'
import { createLogger } from '../../server/process/log.ts'
import { createTroubles } from '../../workflows/troubles.ts'

test('a trouble is logged when it begins, when it becomes another one, and when it is over', () => {
  const lines: string[] = []
  const log = createLogger('info', { write: (line: string) => lines.push(JSON.parse(line).msg) })
  const troubles = createTroubles(log)
  troubles.resolve('Temporal')
  for (const message of ['refused', 'refused', 'refused', 'silent', 'silent'])
    troubles.report('Temporal', new Error(message))
  troubles.resolve('Temporal')
  troubles.resolve('Temporal')
  expect(lines).toEqual([
    'Temporal: trouble, trying again',
    'Temporal: trouble, trying again',
    'Temporal: trouble is over',
  ])
})
