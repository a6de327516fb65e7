import fc from 'fast-check'
import { expect, test } from 'vitest'
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
