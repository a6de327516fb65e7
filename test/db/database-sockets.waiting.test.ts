import { createServer, connect as dial, type Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { connect } from '../../server/db/connect.ts'
import { CERTIFICATE } from '../harness/certificates.ts'
import { proxiedDatabase } from '../harness/proxied-database.ts'
import { listenUntilEnd } from '../harness/until-end.ts'
import { outlast, within } from '../harness/waits.ts'

/** Opens a pool of one connection through a proxy. Its statements may take half a second by default. */
async function setUp(statementMs = 500) {
  const { proxy, url } = await proxiedDatabase()
  const { $client: sql } = connect(url.href, { connections: 1, statementMs })
  onTestFinished(() => sql.end({ timeout: 0 }))
  return { sql, proxy, url }
}

test('a statement whose connection goes silent fails, and the next one runs on a new connection', async () => {
  const { sql, proxy } = await setUp()
  await sql`select 1`
  proxy.onMessage = ({ direction }) => (direction === 'down' ? 'hang' : undefined)
  await expect(within(3_000, sql`select 2`, 'hung')).rejects.toThrow('CONNECTION_CLOSED')
  proxy.onMessage = () => undefined
  expect(await within(3_000, sql`select 3 as three`, 'hung')).toEqual([{ three: 3 }])
})

test('an idle connection is closed properly, and its end is not an error', async () => {
  const { sql, proxy } = await setUp()
  await sql`select 1`
  // A busy machine may need a second try to connect.
  const { length: before } = proxy.ports
  await outlast(1_200)
  expect(await sql`select 2 as two`).toEqual([{ two: 2 }])
  expect(proxy.ports.length).toBeGreaterThan(before)
})

test('a statement has its whole time, however long its connection was idle', async () => {
  const { sql } = await setUp()
  await sql`select 1`
  await outlast(400)
  expect(await sql`select 2 as two from pg_sleep(0.25)`).toEqual([{ two: 2 }])
})

test('a connection that is being opened is not limited by the time of a statement', async () => {
  const { sql, proxy } = await setUp()
  proxy.onMessage = ({ n }) => (n === 1 ? { afterMs: 1_000, act: 'pass' } : undefined)
  expect(await sql`select 1 as one`).toEqual([{ one: 1 }])
})

test('a connection that died while idle does not occupy a place in the pool', async () => {
  const { sql, proxy } = await setUp()
  await sql`select 1`
  proxy.onMessage = () => 'hang'
  await outlast(1_300)
  proxy.onMessage = () => undefined
  expect(await within(3_000, sql`select 2 as two`, 'hung')).toEqual([{ two: 2 }])
})

test('a statement that takes too long fails by the timeout of the server, not as a silent connection', async () => {
  const { sql } = await setUp(2_000)
  await expect(sql`select pg_sleep(6)`).rejects.toThrow('statement timeout')
})

test('a silent connection is noticed under TLS too', async () => {
  const { proxy, url } = await setUp()
  // Accepts SSLRequest and terminates TLS.
  const front = createServer((socket: Socket) => {
    socket.on('error', () => {})
    socket.once('data', () => {
      socket.write('S')
      const secured = new TLSSocket(socket, { isServer: true, ...CERTIFICATE })
      const plain = dial({ host: '127.0.0.1', port: proxy.port })
      for (const end of [secured, plain]) end.on('error', () => {})
      secured.pipe(plain).pipe(secured)
    })
  })
  url.port = String(await listenUntilEnd(front))
  const { $client: sql } = connect(`${url.href}?sslmode=require`, { connections: 1, statementMs: 500 })
  await sql`select 1`
  proxy.onMessage = () => 'hang'
  await expect(within(3_000, sql`select 2`, 'hung')).rejects.toThrow('CONNECTION_CLOSED')
  proxy.onMessage = () => undefined
  expect(await within(3_000, sql`select 3 as three`, 'hung')).toEqual([{ three: 3 }])
  await sql.end({ timeout: 0 })
})

test('a statement that starts while a connection breaks is not lost', async () => {
  const { sql, proxy } = await setUp()
  await sql`select 1`
  proxy.onMessage = ({ direction }) => (direction === 'down' ? 'reset' : undefined)
  const next = sql`select 2`.catch(() => {
    proxy.onMessage = () => undefined
    return within(3_000, sql`select 3 as three`, 'hung')
  })
  expect(await next).toEqual([{ three: 3 }])
})
