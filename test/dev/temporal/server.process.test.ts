import { devNull } from 'node:os'
import { expect, test } from 'vitest'
import { freePort } from '../../../dev/ports.ts'
import { startTemporalServer } from '../../../dev/temporal/server.ts'
import { makeFilesSlow } from '../../harness/slow-files.ts'

test('a Temporal that ends at once is noticed although files are slow', async () => {
  using _files = makeFilesSlow()
  const [port, uiPort] = [await freePort(), await freePort()]
  const server = await startTemporalServer({ program: 'false', port, uiPort, logFile: devNull })
  expect(await server.ready).toBe(false)
  await server.gone
})
