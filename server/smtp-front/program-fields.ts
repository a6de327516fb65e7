import { decodeWords } from '../../mail/mime/encoded-words.ts'
import type { RawField } from '../../mail/mime/raw/header.ts'
import {
  IDEMPOTENCY_KEY,
  isServiceField,
  METADATA,
  nearServiceField,
  SANDBOX,
  shownServiceField,
  TAG,
  TENANT,
} from '../../mail/mime/raw/service-fields.ts'
import { type FieldFault, failFields } from '../errors.ts'
import { readTrueOrFalse, SANDBOX_FAULT } from '../sending/dry-run.ts'
import { keyFault } from '../sending/idempotency-key.ts'
import { tenantFault } from '../sending/message.ts'
import { metadataFaults, tagFault } from '../sending/metadata.ts'

/** What a program asks of the service in the header of its message. */
export interface ProgramFields {
  idempotencyKey?: string
  /** A dry run. */
  sandbox: boolean
  tag?: string
  tenantId?: string
  metadata: Record<string, string>
}

export const NO_FIELDS: ProgramFields = { sandbox: false, metadata: {} }

/**
 * Reads the fields that are for the service. Throws `invalid_payload`, which names them, for faulty ones, for one that
 * is given twice, and for names that are one letter from ours: a typo must neither send nor be sent.
 */
export function readProgramFields(fields: readonly RawField[]): ProgramFields {
  const faults: FieldFault[] = []
  const given = new Map<string, string>()
  for (const { name, value } of fields) {
    const refuse = (message: string) => faults.push({ field: shownServiceField(name), message })
    const near = nearServiceField(name)
    if (near) refuse(`is unknown. Did you mean ${shownServiceField(near)}?`)
    if (!isServiceField(name)) continue
    if (given.has(name)) refuse('is given twice')
    // A key is compared, and not shown: it is taken as it was written.
    given.set(name, name === IDEMPOTENCY_KEY ? value : decodeWords(value))
  }
  for (const [name, value] of given) {
    const message = faultOf(name, value)
    if (message) faults.push({ field: shownServiceField(name), message })
  }
  const pairs = [...given].filter(([name]) => name.startsWith(METADATA))
  const metadata = Object.fromEntries(pairs.map(([name, value]) => [name.slice(METADATA.length), value]))
  if (faults.length === 0) {
    faults.push(...metadataFaults(metadata).map(({ message }) => ({ field: shownServiceField(METADATA), message })))
  }
  if (faults.length > 0) throw failFields('invalid_payload', faults)
  return {
    idempotencyKey: given.get(IDEMPOTENCY_KEY),
    sandbox: readTrueOrFalse(given.get(SANDBOX) ?? 'false') === true,
    tag: given.get(TAG),
    tenantId: given.get(TENANT),
    metadata,
  }
}

function faultOf(name: string, value: string): string | undefined {
  if (name === IDEMPOTENCY_KEY) return keyFault(value)
  if (name === SANDBOX) return readTrueOrFalse(value) === undefined ? SANDBOX_FAULT : undefined
  if (name === TAG) return tagFault(value)
  if (name === TENANT) return tenantFault(value)
  return metadataFaults({ [name.slice(METADATA.length)]: value })[0]?.message
}
