import { expect, test } from 'vitest'
import { createLogger } from '../../server/process/log.ts'
import { cpuStopwatch } from '../harness/stopwatch.ts'

function lines(write: (log: ReturnType<typeof createLogger>) => void): string {
  let written = ''
  write(createLogger('trace', { write: (line) => (written += line) }))
  return written
}

test('a hostile line is redacted in linear time', () => {
  const watch = cpuStopwatch()
  lines((log) => log.info({ reply: 'a'.repeat(1_000_000), other: '"subject":"'.repeat(10_000), third: '@' }))
  // A quadratic pattern takes minutes.
  expect(watch.ms()).toBeLessThan(1500)
})
