// What Node does not tell of a certificate, read from its DER (X.690 8, RFC 5280 4.1). OpenSSL has parsed it before, so
// a length that does not fit throws.

interface Element {
  tag: number
  /** The whole element, and its contents. */
  whole: Buffer
  contents: Buffer
}

export interface Extension {
  /** The object identifier in hex, without tag and length. */
  id: string
  isCritical: boolean
  value: Buffer
}

const BOOLEAN = 0x01
const OCTET_STRING = 0x04
/** Explicitly tagged fields of a certificate: its version and its extensions. */
const VERSION = 0xa0
const EXTENSIONS = 0xa3

/** The SubjectPublicKeyInfo as the certificate has it; Node would encode the key anew. */
export function publicKeyInfo(certificate: Buffer): Buffer {
  const [, , , , , key] = fieldsOf(certificate).filter(({ tag }) => tag !== VERSION)
  if (!key) throw new RangeError('the certificate has no key behind serialNumber, signature, issuer, validity, subject')
  return key.whole
}

export function extensionsOf(certificate: Buffer): Extension[] {
  const field = fieldsOf(certificate).find(({ tag }) => tag === EXTENSIONS)
  if (!field) return []
  return sequence(field.contents).map(({ contents }) => {
    const [id, ...more] = elementsOf(contents)
    const value = more.find(({ tag }) => tag === OCTET_STRING)
    if (!id || !value) throw new RangeError('an extension has no value')
    return {
      id: id.contents.toString('hex'),
      isCritical: more.some(({ tag, contents: [octet] }) => tag === BOOLEAN && octet !== 0),
      value: value.contents,
    }
  })
}

/** The elements of a SEQUENCE. */
export function sequence(der: Buffer): Element[] {
  return elementsOf(firstContents(elementsOf(der)))
}

const fieldsOf = (certificate: Buffer) => elementsOf(firstContents(sequence(certificate)))

function firstContents([first]: readonly Element[]): Buffer {
  if (!first) throw new RangeError('a sequence is missing')
  return first.contents
}

function elementsOf(der: Buffer): Element[] {
  const elements: Element[] = []
  for (let at = 0; at < der.length; ) {
    const [tag, first] = [der[at]!, der[at + 1]!]
    const octets = Math.max(0, first - 0x80)
    const start = at + 2 + octets
    const end = start + (octets > 0 ? der.readUIntBE(at + 2, octets) : first)
    if (end > der.length) throw new RangeError('an element is longer than what holds it')
    elements.push({ tag, whole: der.subarray(at, end), contents: der.subarray(start, end) })
    at = end
  }
  return elements
}
