import PostalMime from 'postal-mime'

/** A report as it came, in parts. Text is what is shown to people, in a part of its own or alone. */
export interface Parts {
  header(name: string): string
  text: string
  /** The content of the first part of one of these media types; undefined when there is none. */
  part(...types: string[]): string | undefined
}

// What a report says stands at its beginning, the message it is about at its end. Reading takes time by the line, and everything here
// may be written to take as long as it can: more is not looked at.
const MAX_BYTES = 192 * 1024
const MAX_LINES = 2_500
const MAX_HEADER_BYTES = 64 * 1024
const MAX_DEPTH = 10

export async function readParts(mail: Buffer): Promise<Parts | undefined> {
  const options = { forceRfc822Attachments: true, maxHeadersSize: MAX_HEADER_BYTES, maxNestingDepth: MAX_DEPTH }
  // It throws for what is nested too deep, and for too large headers.
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
