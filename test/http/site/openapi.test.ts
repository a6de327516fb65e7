import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { createFastify } from '../../../server/http/fastify.ts'
import { OPENAPI_PATH, openApiPage } from '../../../server/http/site/openapi.ts'
import { temporaryFolder } from '../../harness/until-end.ts'

function serve() {
  const visit = async () => {}
  const records = { log: pino({ enabled: false }), inFlight: new Set<never>(), ended: () => {} }
  const fastify = createFastify({ trustProxy: [], records, visit })
  openApiPage(fastify, { visit, publicUrl: () => 'https://mail.example.com', file })
  return fastify
}

const folder = temporaryFolder()
const file = join(folder, 'openapi.json')

test('without a build the response says how to make one, and a build is served as soon as there is one', async () => {
  const server = serve()
  const { statusCode, json } = await server.inject(OPENAPI_PATH)
  expect([statusCode, json().message]).toEqual([404, 'The document is not built. Run `npm run build`.'])
  await writeFile(file, '{"openapi":"3.1.0"}')
  expect((await server.inject(OPENAPI_PATH)).statusCode).toBe(200)
})

test('a later build does not change what a running server serves', async () => {
  const server = serve()
  await writeFile(file, '{"openapi":"3.1.0"}')
  const first = await server.inject(OPENAPI_PATH)
  await writeFile(file, '{"openapi":"3.1.1"}')
  expect((await server.inject(OPENAPI_PATH)).body).toBe(first.body)
})
