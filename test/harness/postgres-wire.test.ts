import { expect, test } from 'vitest'
import { connect } from '../../server/db/connect.ts'
import { readStatements } from './postgres-wire.ts'
import { proxiedDatabase } from './proxied-database.ts'

test('the reader reports each statement when it is sent and when it is done, prepared statements too', async () => {
  const { proxy, url } = await proxiedDatabase()
  const read = readStatements()
  const seen: string[] = []
  proxy.onMessage = (message) => {
    const { starts, ends } = read(message)
    seen.push(...starts.map((sql) => `starts ${sql}`), ...ends.map((sql) => `ends ${sql}`))
    return undefined
  }
  const db = connect(url.href, { connections: 1 })
  for (const value of [1, 2]) await db.$client.unsafe('select $1::int', [value], { prepare: true })
  await db.$client.unsafe('select 3')
  await db.$client.begin((tx) => tx`select 4`)
  const ours = ['select $1::int', 'select $1::int', 'select 3', 'begin ', 'select 4', 'commit']
  expect(seen.slice(-12)).toEqual(ours.flatMap((sql) => [`starts ${sql}`, `ends ${sql}`]))
  await db.$client.end()
})
