import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CALL_TIMES } from '../../server/config/limits.ts'
import { reasonOf } from '../../server/errors.ts'
import { createSharing } from '../../server/sending/sharing.ts'

test('of all requests with a key, only the first keeps its place at work; the repeats wait without one', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: 50 }), fc.boolean(), async (repeats, isSame) => {
      const { share } = createSharing<string>(1_000)
      const first = Promise.withResolvers<string>()
      const left: number[] = []
      const all = Array.from({ length: 1 + repeats }, (_, i) => {
        const requestHash = isSame ? 'a' : `${i}`
        const respond = async () => ({ response: await first.promise, replayed: false, requestHash })
        return share({ accountId: 'a', scope: 's', key: 'k', requestHash }, respond, () => left.push(i))
      })
      expect(left).toEqual(Array.from({ length: repeats }, (_, i) => i + 1))
      first.resolve('sent')
      const responses = await Promise.all(all)
      expect(responses.filter(({ replayed }) => replayed).length).toBe(repeats)
      expect(responses.filter(({ mismatch }) => mismatch).length).toBe(isSame ? 0 : repeats)
    }),
  )
})

const KEY = { accountId: 'a', scope: 's', key: 'k', requestHash: 'a' }
const SENT = { response: 'sent', replayed: false, requestHash: 'a' }

test('a repeat waits for the lease of the first one and the time of a repeat, and is then told to come again', async () => {
  const waitMs = 30
  const { share } = createSharing<string>(waitMs - CALL_TIMES.repeatMs)
  const first = Promise.withResolvers<typeof SENT>()
  const sending = share(KEY, () => first.promise)
  for (const requestHash of ['a', 'another body']) {
    const startMs = performance.now()
    const error = await share({ ...KEY, requestHash }, async () => SENT).catch((error) => error)
    expect([reasonOf(error), error.rawMessage]).toEqual(['transient_failure', expect.stringMatching(/safe to repeat/)])
    // A timer of Node.js may ring up to a millisecond early.
    expect(performance.now() - startMs).toBeGreaterThan(waitMs - 2)
  }
  first.resolve(SENT)
  expect((await sending).response).toBe('sent')
})

test('equal requests fail with the first one, and one with another body makes its own attempt', async () => {
  const { share } = createSharing<string>(1_000)
  const first = Promise.withResolvers<typeof SENT>()
  const failing = share(KEY, () => first.promise).catch((error) => error)
  const equal = share(KEY, async () => SENT).catch((error) => error)
  const other = share({ ...KEY, requestHash: 'b' }, async () => ({ ...SENT, requestHash: 'b' }))
  const fault = new Error('refused')
  first.reject(fault)
  expect([await failing, await equal]).toEqual([fault, fault])
  expect(await other).toEqual({ response: 'sent', replayed: false, mismatch: false })
})

test('a shutdown waits for requests with a key', async () => {
  const { share, idle } = createSharing<string>(1_000)
  const first = Promise.withResolvers<typeof SENT>()
  const sending = share(KEY, () => first.promise)
  let hasEnded = false
  setImmediate(() => {
    hasEnded = true
    first.resolve(SENT)
  })
  await idle()
  expect(hasEnded).toBe(true)
  await sending
})
