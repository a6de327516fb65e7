import { type DescField, type DescMessage, type Message, ScalarType } from '@bufbuild/protobuf'
import { shapeOf } from '../rest/json-shape.ts'
import { blame, noFaults, putAside, type RequestFaults } from './faults.ts'

type CheckField = (value: never, path: string, faults: RequestFaults) => void

/**
 * Only a message's bodies may be longer: they have their own limit. Readers of other text need not limit its length.
 */
export const MAX_TEXT_CHARACTERS = 16 * 1024
const BODIES: unknown[] = ['html', 'text']

/**
 * The faults of text that JSON and Protobuf accept and nothing after them can hold: NUL characters, halves of a
 * surrogate pair, and far more characters than any field has.
 */
export function textFaults(desc: DescMessage, message: Message): RequestFaults {
  const faults = noFaults()
  messageCheck(desc)(message as never, '', faults)
  return faults
}

const messageChecks = new Map<DescMessage, CheckField>()

function messageCheck(desc: DescMessage): CheckField {
  const existing = messageChecks.get(desc)
  if (existing) return existing
  const fields: { localName: string; jsonName: string; check: CheckField }[] = []
  const check: CheckField = (message: Record<string, never>, path, faults) => {
    for (const { localName, jsonName, check } of fields) {
      const value = message[localName]
      if (value !== undefined) check(value, path ? `${path}.${jsonName}` : jsonName, faults)
    }
  }
  messageChecks.set(desc, check)
  for (const field of desc.fields) {
    const check = fieldCheck(field)
    if (check) fields.push({ localName: field.localName, jsonName: field.jsonName, check })
  }
  return check
}

function fieldCheck(field: DescField): CheckField | undefined {
  const one = field.message
    ? messageCheck(field.message)
    : field.scalar === ScalarType.STRING
      ? textCheck(field)
      : undefined
  if (field.fieldKind === 'map') return mapCheck(one)
  if (field.fieldKind !== 'list' || !one) return one
  if (shapeOf(field).eachAlone) return aloneCheck(one)
  return (list: never[], path, faults) => {
    for (let i = 0; i < list.length; i++) one(list[i]!, `${path}[${i}]`, faults)
  }
}

function aloneCheck(one: CheckField): CheckField {
  return (list: never[], path, faults) => {
    for (const [index, item] of list.entries()) {
      const own = noFaults()
      one(item, '', own)
      putAside(faults, path, index, own)
    }
  }
}

function mapCheck(one: CheckField | undefined): CheckField {
  return (map: Record<string, never>, path, faults) => {
    for (const key of Object.keys(map)) {
      checkShortText(key as never, path, faults)
      one?.(map[key]!, `${path}[${JSON.stringify(key.slice(0, 64))}]`, faults)
    }
  }
}

/** Elements of a list are addresses. Their own parser refuses those that are too long, each by its index. */
function textCheck({ name, fieldKind }: DescField): CheckField {
  return BODIES.includes(name) || fieldKind === 'list' ? checkText : checkShortText
}

const checkShortText: CheckField = (text: string, path, faults) => {
  if (text.length <= MAX_TEXT_CHARACTERS) checkText(text as never, path, faults)
  else
    blame(
      faults,
      path,
      `has ${text.length} characters; no field but html and text has more than ${MAX_TEXT_CHARACTERS}`,
    )
}

const checkText: CheckField = (text: string, path, faults) => {
  if (text.includes('\0')) blame(faults, path, 'must not contain NUL characters')
  else if (!text.isWellFormed()) blame(faults, path, 'must not contain half of a surrogate pair')
}
