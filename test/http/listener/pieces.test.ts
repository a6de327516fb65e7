import { once } from 'node:events'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import fc from 'fast-check'
import { afterEach, expect, test, vi } from 'vitest'
import { createPieceLimit } from '../../../server/http/listener/pieces.ts'

/** One connection, whose bodies arrive by hand. */
function connection() {
  const refuse = vi.fn()
  const watch = createPieceLimit(refuse)
  const body = () => {
    const newBody = new Readable({ read() {} })
    watch(newBody)
    return newBody
  }
  return { body, refuse }
}

function push(body: Readable, count: number, bytes: number): void {
  for (let i = 0; i < count; i++) body.push(Buffer.alloc(bytes, 'a'))
}

afterEach(() => void vi.useRealTimers())

test('a body has the same bytes however it is cut into pieces, within a turn and over several', async () => {
  const piece = fc.record({ size: fc.oneof(fc.nat(100), fc.nat(20_000)), turn: fc.boolean() })
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 30 }), async (pieces) => {
      const body = connection().body()
      const received = buffer(body)
      const sent: Buffer[] = []
      for (const { size, turn } of pieces) {
        sent.push(Buffer.alloc(size, sent.length))
        body.push(sent.at(-1))
        if (turn) await new Promise(setImmediate)
      }
      body.push(null)
      expect((await received).equals(Buffer.concat(sent))).toBe(true)
    }),
  )
})

test('the pieces that arrive in one turn are one chunk for the reader', async () => {
  const body = connection().body()
  const chunks: Buffer[] = []
  body.on('data', (chunk) => void chunks.push(chunk))
  push(body, 500, 1)
  await new Promise(setImmediate)
  push(body, 500, 1)
  body.push(null)
  await once(body, 'end')
  expect(chunks.map(({ length }) => length)).toEqual([500, 500])
})

test('a body asks for no more when it holds as much as its reader may buffer', () => {
  const body = connection().body()
  let isWanted = true
  let bytes = 0
  for (; isWanted && bytes < 2 ** 20; bytes += 1_000) isWanted = body.push(Buffer.alloc(1_000))
  expect(bytes).toBeLessThanOrEqual(body.readableHighWaterMark + 1_000)
})

test('1,000 small pieces are accepted, and one more is refused, once', () => {
  const { body, refuse } = connection()
  const one = body()
  // The first piece does not count, and the one that arrived last may be the last of its body.
  push(one, 1_002, 1)
  expect(refuse).not.toHaveBeenCalled()
  push(one, 500, 1)
  expect(refuse).toHaveBeenCalledTimes(1)
  expect(one.push(Buffer.alloc(1))).toBe(false)
})

test('small pieces count for their connection, over all its bodies', () => {
  const { body, refuse } = connection()
  for (let i = 0; i < 11; i++) push(body(), 100, 50)
  expect(refuse).toHaveBeenCalledTimes(1)
})

test('5,000 bodies of one and two small pieces are accepted on one connection', () => {
  const { body, refuse } = connection()
  for (let i = 0; i < 5_000; i++) {
    const one = body()
    push(one, 1 + (i % 2), 5)
    one.push(null)
  }
  expect(refuse).not.toHaveBeenCalled()
})

test('pieces of 64 bytes are accepted, and small ones that are few beside the bytes of the others', () => {
  const { body, refuse } = connection()
  push(body(), 50_000, 64)
  const mixed = body()
  for (let i = 0; i < 5_000; i++) {
    push(mixed, 1, 1)
    push(mixed, 1, 1_000)
  }
  expect(refuse).not.toHaveBeenCalled()
})

test('a large body allows no flood of small pieces after it', () => {
  const { body, refuse } = connection()
  push(body(), 1_000, 16_384)
  push(body(), 2_003, 1)
  expect(refuse).toHaveBeenCalledTimes(1)
})

test('a slow body, byte by byte, is accepted', () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const { body, refuse } = connection()
  const slow = body()
  for (let i = 0; i < 9_500; i++) {
    vi.advanceTimersByTime(11)
    push(slow, 1, 1)
  }
  expect(refuse).not.toHaveBeenCalled()
})
