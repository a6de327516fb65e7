import { expect, test } from 'vitest'
import { readRaw } from '../../../../mail/mime/raw/read-raw.ts'
import { GOOD_HEADER, messageOf } from './bad-messages.ts'

test.each([
  ['lines of base64', `${'QUJD'.repeat(19)}\r\n`],
  ['lines that begin like a boundary', '--\r\n'],
  ['short lines', '\r\n'],
])('the time for 15 MiB of %s is linear', (_, line) => {
  const nested = Array.from({ length: 90 }, (_, i) => [
    `Content-Type: multipart/mixed; boundary=b${i}`,
    '',
    `--b${i}`,
  ]).flat()
  const timeOf = (bytes: number) => {
    const message = messageOf([...GOOD_HEADER, ...nested], [line.repeat(bytes / line.length)])
    const beganMs = performance.now()
    expect(readRaw(message)).not.toHaveProperty('fault')
    return performance.now() - beganMs
  }
  timeOf(2 ** 20)
  const [small, large] = [timeOf(2 ** 20), timeOf(15 * 2 ** 20)]
  expect(large).toBeLessThan(Math.max(small, 10) * 15 * 6)
})
