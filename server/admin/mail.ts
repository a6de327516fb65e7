import PostalMime, { type Attachment, decodeWords } from 'postal-mime'

/** A message as a mail reader sees it. Its text is what the sender wrote, with control characters and all. */
export interface DisplayedMail {
  /** The From header, decoded. */
  from: string
  subject: string
  /** In their order, unfolded and decoded. */
  headers: { name: string; value: string }[]
  text?: string
  html?: string
  files: MailFile[]
}

export interface MailFile {
  filename: string
  contentType: string
  content: Uint8Array
  /** Without its angle brackets. */
  contentId?: string
  /** Whether it belongs to the html. */
  inline: boolean
}

// Each line costs the parser time, however short. A message has room for its files in base64, and for this many more
// lines; what follows is not read.
const MORE_LINES = 20_000
const BYTES_PER_LINE = 64

const OPTIONS = { forceRfc822Attachments: true, maxHeadersSize: 2 ** 20, maxNestingDepth: 20 }
const UNREADABLE: DisplayedMail = { from: '', subject: '', headers: [], files: [] }

/**
 * Parses a message, in bounded time for any content. A message that is nested too deep or has too long headers has only
 * its source to show.
 */
export async function readMail(source: Buffer): Promise<DisplayedMail> {
  const email = await PostalMime.parse(beginning(source), OPTIONS).catch(() => undefined)
  if (!email) return UNREADABLE
  const headers = email.headers.map(({ originalKey, value }) => ({ name: originalKey, value: decodeWords(value) }))
  return {
    from: headers.find(({ name }) => name.toLowerCase() === 'from')?.value ?? '',
    subject: email.subject ?? '',
    headers,
    text: email.text,
    html: email.html,
    files: email.attachments.map(fileOf),
  }
}

function fileOf({ filename, mimeType, content, contentId, related, disposition }: Attachment): MailFile {
  return {
    filename: filename ?? '',
    contentType: mimeType,
    // The parser returns text only for encodings that are not asked for.
    content: typeof content === 'string' ? Buffer.from(content) : new Uint8Array(content as ArrayBuffer),
    contentId: contentId?.replace(/^<|>$/g, ''),
    inline: related === true || (disposition === 'inline' && contentId !== undefined),
  }
}

function beginning(source: Buffer): Buffer {
  let end = 0
  for (let lines = 0; lines < MORE_LINES + end / BYTES_PER_LINE; lines++) {
    const next = source.indexOf('\n', end) + 1
    if (next === 0) return source
    end = next
  }
  return source.subarray(0, end)
}
