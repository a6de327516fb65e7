import { hasControls } from '../../mail/address.ts'
import { isLonger, nameFault } from '../../net/clean-text.ts'
import type { FieldFault } from '../errors.ts'

export const METADATA_LIMITS = {
  metadataPairs: 20,
  metadataKeyCharacters: 40,
  metadataValueCharacters: 500,
  metadataBytes: 4_096,
  tagCharacters: 100,
} as const

const KEY = /^[A-Za-z0-9_.-]{1,40}$/

export function metadataFaults(metadata: Record<string, string>): FieldFault[] {
  const pairs = Object.entries(metadata)
  const { metadataPairs: most, metadataBytes: mostBytes } = METADATA_LIMITS
  if (pairs.length > most) {
    return [{ field: 'metadata', message: `holds ${pairs.length} pairs; a message has at most ${most}` }]
  }
  const faults = pairs.flatMap(([key, value]) => {
    const message = pairFault(key, value)
    return message ? [{ field: `metadata[${JSON.stringify(key.slice(0, 80))}]`, message }] : []
  })
  const bytes = pairs.reduce((sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value), 0)
  if (bytes > mostBytes) {
    const message = `has ${bytes} bytes of keys and values; at most ${mostBytes} are allowed`
    faults.push({ field: 'metadata', message })
  }
  return faults
}

function pairFault(key: string, value: string): string | undefined {
  const { metadataKeyCharacters, metadataValueCharacters: most } = METADATA_LIMITS
  if (!KEY.test(key)) return `may have only A-Z a-z 0-9 _ . - in its name, 1 to ${metadataKeyCharacters} of them`
  if (isLonger(value, most)) return `has more than ${most} characters`
  return hasControls(value) ? 'holds a line break or another control character' : undefined
}

/** Describes the fault of a tag; undefined when it has none. */
export const tagFault = (tag: string): string | undefined => nameFault(tag, METADATA_LIMITS.tagCharacters)
