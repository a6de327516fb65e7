import { expect, test } from 'vitest'
import { readDatabaseUrl } from '../../server/config/database-url.ts'

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
  expect(readDatabaseUrl(text)).toEqual({ hosts: hosts.map(([host, port]) => ({ host, port })), url })
})
