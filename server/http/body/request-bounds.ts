import { fail } from '../../errors.ts'

// What one request may hold, on every protocol. Readers check these bounds before they create anything from the bytes:
// an empty Protobuf message takes 2 bytes on the wire and hundreds in memory.

/** Names and values of JSON, or fields of Protobuf. The largest batch has about 43,000. */
export const MAX_VALUES = 50_000
/** Objects of JSON, or messages of Protobuf, without the request itself. The largest batch has 1,300. */
export const MAX_OBJECTS = 2_000
/** Levels of objects and lists. */
export const MAX_DEPTH = 32

export const tooManyValues = () =>
  fail('invalid_payload', `The request has more than ${MAX_VALUES} names and values. Split it into smaller requests.`)

export const tooManyObjects = () =>
  fail('invalid_payload', `The request has more than ${MAX_OBJECTS} objects. Split it into smaller requests.`)

export const tooDeep = () => fail('invalid_payload', `The request is nested deeper than ${MAX_DEPTH} levels.`)
