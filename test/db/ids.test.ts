import fc from 'fast-check'
import { TypeID } from 'typeid-js'
import { expect, test } from 'vitest'
import { firstIdAt, newId, parsePublicId, publicId, timeOfId } from '../../server/db/ids.ts'

test('an id is shown as TypeID writes it, and can be read back', () => {
  fc.assert(
    fc.property(fc.uuid(), (uuid) => {
      const shown = publicId('msg', uuid)
      expect(shown).toBe(TypeID.fromUUID('msg', uuid).toString())
      expect(parsePublicId('msg', shown)).toBe(uuid)
      expect(parsePublicId('evt', shown)).toBeUndefined()
    }),
  )
})

test('an id carries its time, and is not below the first id of that time', () => {
  const now = Date.now()
  const id = newId(now)
  expect(timeOfId(id)).toBe(now)
  expect(id > firstIdAt(now) && id < firstIdAt(now + 1)).toBe(true)
})
