import PostalMime from 'postal-mime'

/** A report in its parts. `text` is the text for people, in a part of its own or alone. */
export interface Parts {
  header(name: string): string
  text: string
  /** The content of the first part with one of these media types; undefined when there is none. */
  part(...types: string[]): string | undefined
}

// A report begins with its statements and ends with the original message. Each line takes time to read, and an attacker
// may write a mail that takes as long as possible: the rest is not read.
const MAX_BYTES = 192 * 1024
const MAX_LINES = 2_500
const MAX_HEADER_BYTES = 64 * 1024
const MAX_DEPTH = 10

export async function readParts(mail: Buffer): Promise<Parts | undefined> {
  const options = { forceRfc822Attachments: true, maxHeadersSize: MAX_HEADER_BYTES, maxNestingDepth: MAX_DEPTH }
  // The parser throws on parts nested too deep, and on headers too large.
  const email = await PostalMime.parse(beginning(mail), options).catch(() => undefined)
  return (
    email && {
      header: (name) => email.headers.find(({ key }) => key === name)?.value ?? '',
      text: email.text ?? '',
      part(...types) {
        const content = email.attachments.find(({ mimeType }) => types.includes(mimeType))?.content
        return content === undefined ? undefined : textOf(content)
      },
    }
  )
}

function textOf(content: ArrayBuffer | Uint8Array | string): string {
  if (typeof content === 'string') return content
  return Buffer.from(content as ArrayBuffer).toString('utf8')
}

function beginning(mail: Buffer): Buffer {
  let end = 0
  for (let lines = 0; lines < MAX_LINES && end < MAX_BYTES; lines++) {
    const next = mail.indexOf('\n', end) + 1
    if (next === 0) return mail.subarray(0, MAX_BYTES)
    end = next
  }
  return mail.subarray(0, Math.min(end, MAX_BYTES))
}
