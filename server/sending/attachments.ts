import type { Attachment as Given, SendRequest } from '../../gen/verdict/v1/emails_pb.ts'
import type { Attachment } from '../../mail/mime/builder.ts'
import type { FieldFault } from '../errors.ts'

export const ATTACHMENT_LIMITS = {
  attachments: 10,
  attachmentBytes: 10 * 1024 * 1024,
  filenameCharacters: 1_024,
} as const

/** A type and a subtype that can be registered (RFC 6838 4.2). */
export const CONTENT_TYPE = /^[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}\/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}$/
export const CONTENT_ID = /^[A-Za-z0-9._@+-]{1,128}$/

type Files = Pick<SendRequest, 'attachments' | 'html'>

export function attachmentFaults({ attachments, html }: Files): FieldFault[] {
  const { attachments: most, attachmentBytes: mostBytes } = ATTACHMENT_LIMITS
  if (attachments.length > most) {
    return [{ field: 'attachments', message: `holds ${attachments.length} files; a message has at most ${most}` }]
  }
  const ids = attachments.map(({ contentId }) => contentId)
  const faults = attachments.flatMap((file, i) => {
    const messages = {
      content: file.content ? undefined : 'is required; an empty string is an empty file',
      filename: filenameFault(file.filename),
      content_type: contentTypeFault(file),
      content_id: contentIdFault(file, { html, earlierIds: ids.slice(0, i) }),
    }
    return Object.entries(messages).flatMap(([field, message]) =>
      message ? [{ field: `attachments[${i}].${field}`, message }] : [],
    )
  })
  const bytes = attachments.reduce((sum, { content }) => sum + (content?.length ?? 0), 0)
  if (bytes > mostBytes) {
    const message = `have ${bytes} bytes together; at most ${mostBytes} (10 MiB) are allowed`
    faults.push({ field: 'attachments', message })
  }
  return faults
}

function filenameFault(filename: string): string | undefined {
  const { filenameCharacters: most } = ATTACHMENT_LIMITS
  if (filename === '') return 'is required'
  if (filename.length > most) return `has ${filename.length} characters; at most ${most} are allowed`
  return hasBrokenText(filename) ? 'holds a NUL character or half a surrogate pair' : undefined
}

function contentTypeFault({ contentType }: Given): string | undefined {
  if (contentType === undefined) return undefined
  if (!CONTENT_TYPE.test(contentType)) return 'must be a media type without parameters, such as image/png'
  // Readers would unpack it, and filters that look only at the outer message would miss it.
  return /^(?:multipart|message)\//i.test(contentType) ? 'must not be multipart/* or message/*' : undefined
}

interface Others {
  html: string | undefined
  earlierIds: (string | undefined)[]
}

function contentIdFault({ contentId }: Given, { html, earlierIds }: Others): string | undefined {
  if (contentId === undefined) return undefined
  if (!CONTENT_ID.test(contentId))
    return 'must be 1 to 128 characters of A-Z a-z 0-9 . _ @ + -, without "cid:" and without < >'
  if (earlierIds.includes(contentId)) return 'is the content_id of an earlier file'
  return html ? undefined : `needs html that shows the file as cid:${contentId}`
}

export const hasBrokenText = (text: string) => text.includes('\0') || !text.isWellFormed()

/** The files of a request without faults. */
export function readAttachments({ attachments }: Files): Attachment[] {
  return attachments.map(({ filename, content, contentType, contentId }) => {
    return { filename, content: content!, contentType, contentId }
  })
}
