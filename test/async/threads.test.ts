import { generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { inThread, inThreadIfLarge } from '../../server/async/threads.ts'
import { echo, ending, MODULE, reversed, throwing, where } from './in-thread.ts'

const echoInThread = inThread(MODULE, echo)

test('plain values and bytes go to a thread and come back', async () => {
  const value = { text: 'ü', list: [1, null], date: new Date(0), bytes: new Uint8Array([1, 2]) }
  expect(await echoInThread('a', value)).toEqual(value)
})

test('bytes of a larger buffer stay where they are, and the others of it do not travel', async () => {
  const whole = Buffer.alloc(1e6, 'abc')
  const { bytes, small } = await inThread(MODULE, reversed)('a', whole.subarray(0, 3))
  expect(Buffer.from(bytes).toString()).toBe('cba')
  expect(Buffer.from(small).toString()).toBe('ab')
  expect([bytes.buffer.byteLength, whole.length]).toEqual([3, 1e6])
})

test('what a function throws rejects, and the thread goes on', async () => {
  await expect(inThread(MODULE, throwing)('a')).rejects.toThrow('not like this')
  expect(await echoInThread('a', 1)).toBe(1)
})

test('a thread that ends rejects its work, and the next work gets another one', async () => {
  await expect(inThread(MODULE, ending)('a')).rejects.toThrow('the thread ended')
  expect(await echoInThread('a', 1)).toBe(1)
})

test('an account with much work delays another one by one piece of it at most', async () => {
  const order: string[] = []
  const work = (account: string) => echoInThread(account, account).then(() => order.push(account))
  await Promise.all([...Array.from({ length: 20 }, () => work('many')), work('one')])
  expect(order.indexOf('one')).toBeLessThan(4)
})

test('what is given more than 64 KiB of bytes and texts in all works in a thread, and the rest here', async () => {
  const runsIn = inThreadIfLarge(MODULE, where)
  const half = 32 * 1024
  const { privateKey: key } = generateKeyPairSync('ed25519')
  const large = [
    [new Uint8Array(2 * half + 1)],
    ['x'.repeat(half), 'x'.repeat(half + 1)],
    [Object.assign(Object.create({}), { html: 'x'.repeat(half), text: 'x'.repeat(half + 1) })],
    [{ files: [{ content: new Uint8Array(half) }, { name: 'x', content: new Uint8Array(half) }] }],
  ]
  for (const values of large) expect(await runsIn('a', ...values)).toBe('a thread')
  const small = [
    [new Uint8Array(2 * half)],
    [{ text: 'x'.repeat(half), at: new Date(), key, files: [], none: undefined, nil: null }],
  ]
  for (const values of small) expect(await runsIn('a', ...values)).toBe('here')
})
