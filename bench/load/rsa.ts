import { generateKeyPairSync, sign } from 'node:crypto'
import { median } from '../report.ts'

const SIGNATURES = 300
const CONTENT = Buffer.alloc(400, 'x')

/** How long an RSA-2048 signature takes on this machine, in microseconds: the median of some hundred. */
export function rsaMicros(): number {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const timesMs = Array.from({ length: SIGNATURES }, () => {
    const startedAt = performance.now()
    sign('sha256', CONTENT, privateKey)
    return performance.now() - startedAt
  })
  return median(timesMs) * 1_000
}
