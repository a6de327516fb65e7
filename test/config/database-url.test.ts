import { expect, test } from 'vitest'
import { readDatabaseUrl, readReplicaUrls } from '../../server/config/database-url.ts'

test.each([
  ['postgres://u:p@a:5433/db', [['a', 5433]], 'postgres://u:p@a:5433/db'],
  [
    'postgresql://u:p%40w@a,b:5433/db',
    [
      ['a', 5432],
      ['b', 5433],
    ],
    'postgresql://u:p%40w@a/db',
  ],
  [
    'postgres://u@[::1],[fd00::2]:5433/db',
    [
      ['::1', 5432],
      ['fd00::2', 5433],
    ],
    'postgres://u@[::1]/db',
  ],
  [
    'postgres://a:1,b:2/db?target_session_attrs=read-write',
    [
      ['a', 1],
      ['b', 2],
    ],
    'postgres://a:1/db',
  ],
  ['postgres://a/db?target_session_attrs=primary&sslmode=require', [['a', 5432]], 'postgres://a/db?sslmode=require'],
  ['postgres://a/db?sslmode=require&target_session_attrs=primary', [['a', 5432]], 'postgres://a/db?sslmode=require'],
  ['postgres:///db', [], 'postgres:///db'],
])('%s names its servers, and the driver gets the first one', (text, hosts, url) => {
  const places = hosts.map(([host, port]) => ({ host, port }))
  expect(readDatabaseUrl(text)).toEqual({ hosts: places, url, isPooled: false })
})

test('prepare=false says that a pooler gives each transaction another session, and the driver reads it too', () => {
  const url = 'postgres://a/db?prepare=false'
  expect(readDatabaseUrl(url)).toMatchObject({ url, isPooled: true })
  expect(() => readDatabaseUrl('postgres://a/db?prepare=off')).toThrow('must have prepare=false, or leave it out')
})

test('each replica has a URL of its own', () => {
  expect(readReplicaUrls('postgres://u:p@a,[::1]:5433/db?sslmode=require')).toEqual([
    { host: { host: 'a', port: 5432 }, url: 'postgres://u:p@a/db?sslmode=require' },
    { host: { host: '::1', port: 5433 }, url: 'postgres://u:p@[::1]:5433/db?sslmode=require' },
  ])
  expect(() => readReplicaUrls('postgres:///db')).toThrow('must name a server')
  expect(() => readReplicaUrls('postgres://a/db?target_session_attrs=read-write')).toThrow(
    'must not have target_session_attrs',
  )
})
