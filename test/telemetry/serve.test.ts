import { expect, test } from 'vitest'
import { createMetrics } from '../../server/telemetry/metrics.ts'
import { serveMetrics } from '../../server/telemetry/serve.ts'

/** What the exporter is loaded for. It fails as often as `failures` says, as a process without free files does. */
function failingAbout(failures: number) {
  return {
    version: '1.0.0',
    get service() {
      if (failures-- > 0) throw new Error('EMFILE: too many open files')
      return 'verdict-api'
    },
  }
}

test('a scrape that cannot load the exporter is answered with 500, and the next one loads it again', async () => {
  const server = await serveMetrics(createMetrics('api'), failingAbout(1), { host: '127.0.0.1', port: 0 })
  const failed = await fetch(server.url)
  expect(failed.status).toBe(500)
  expect(await failed.text()).toBe('The metrics cannot be read: EMFILE: too many open files. Try again.\n')
  const scraped = await fetch(server.url)
  expect(scraped.status).toBe(200)
  expect(await scraped.text()).toContain('verdict_sends_total')
  server.close()
})
