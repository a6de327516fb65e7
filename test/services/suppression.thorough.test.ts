import { expect, test } from 'vitest'
import { startApi } from './api.ts'

const api = await startApi()

const PATH = '/api/v1/suppression'
const add = (body: object, key?: string) => api.call('POST', PATH, { body, key })
const remove = (email: string, query = '', key?: string) => api.call('DELETE', `${PATH}/${email}${query}`, { key })
test('concurrent calls that add and remove an address never fail', async () => {
  const calls = Array.from({ length: 40 }, (_, i) =>
    i % 2 ? remove('busy@race.example') : add({ email: 'busy@race.example' }),
  )
  for (const { status, json } of await Promise.all(calls)) {
    expect(status === 404 || (status === 200 && (json.email === 'busy@race.example' || json.email === undefined))).toBe(
      true,
    )
  }
})
