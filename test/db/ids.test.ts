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

const CHARACTERS = [...'0123456789abcdefghjkmnpqrstvwxyz', ...'ilouA8Z_-. ']

test('a text is an id exactly when TypeID reads it', () => {
  const texts = fc.oneof(
    fc.string({ unit: fc.constantFrom(...CHARACTERS), minLength: 24, maxLength: 28 }),
    fc.uuid().chain((uuid) => {
      const id = publicId('msg', uuid).slice(4)
      const replaced = (at: number, character: string) => id.slice(0, at) + character + id.slice(at + 1)
      return fc.tuple(fc.nat(25), fc.constantFrom(...CHARACTERS)).map(([at, character]) => replaced(at, character))
    }),
  )
  fc.assert(
    fc.property(texts, (id) => {
      expect(parsePublicId('msg', `msg_${id}`)).toBe(readByTypeId(`msg_${id}`))
    }),
  )
})

function readByTypeId(text: string): string | undefined {
  try {
    return TypeID.fromString(text, 'msg').toUUID()
  } catch {
    return undefined
  }
}

test('an id carries its time, and is not below the first id of that time', () => {
  const now = Date.now()
  const id = newId(now)
  expect(timeOfId(id)).toBe(now)
  expect(id > firstIdAt(now) && id < firstIdAt(now + 1)).toBe(true)
})
