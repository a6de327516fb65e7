import type { Attachment as Given, SendRequest } from '../../gen/verdict/v1/emails_pb.ts'
import { hasControls } from '../../mail/address.ts'
import type { Attachment } from '../../mail/mime/builder.ts'
import { isInvitation } from '../../mail/mime/calendar.ts'
import { isToken, type Parameterised, parameterOf, readParameters } from '../../mail/mime/parameters.ts'
import { cleanText } from '../../net/clean-text.ts'
import type { FieldFault } from '../errors.ts'

export const ATTACHMENT_LIMITS = {
  attachments: 10,
  attachmentBytes: 10 * 1024 * 1024,
  filenameCharacters: 1_024,
} as const

/** A type and a subtype that can be registered (RFC 6838 4.2). */
export const CONTENT_TYPE = /^[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}\/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}$/
/** The same, with parameters. */
export const CONTENT_TYPE_FIELD = new RegExp(`${CONTENT_TYPE.source.slice(0, -1)}(?:[\\t ]*;.{0,1000})?$`, 's')
/** `boundary` and others would describe content that we write. */
const PARAMETERS = ['charset', 'method', 'component', 'format', 'name']
const MAX_PARAMETER = 255
export const CONTENT_ID = /^[A-Za-z0-9._@+-]{1,128}$/

type Files = Pick<SendRequest, 'attachments' | 'html'>

/** The invitations among the files, each with the method in its media type. */
export function invitationsIn(attachments: Given[]): { index: number; content: Uint8Array; method: string }[] {
  return attachments.flatMap(({ contentType, content }, index) => {
    const type = readParameters(contentType ?? '')
    return isInvitation(type) && content ? [{ index, content, method: parameterOf(type, 'method')! }] : []
  })
}

/** `otherMethods`: the METHOD in each of the invitations that is not that of its media type. */
export function attachmentFaults(
  { attachments, html }: Files,
  otherMethods: readonly (string | undefined)[],
): FieldFault[] {
  const { attachments: most, attachmentBytes: mostBytes } = ATTACHMENT_LIMITS
  if (attachments.length > most) {
    return [{ field: 'attachments', message: `holds ${attachments.length} files; a message has at most ${most}` }]
  }
  const invitations = invitationsIn(attachments)
  const otherMethodOf = (i: number) => otherMethods[invitations.findIndex(({ index }) => index === i)]
  const ids = attachments.map(({ contentId }) => contentId)
  const faults = attachments.flatMap((file, i) => {
    const messages = {
      content: file.content ? undefined : 'is required; an empty string is an empty file',
      filename: filenameFault(file.filename),
      content_type: contentTypeFault(file, otherMethodOf(i)),
      content_id: contentIdFault(file, { html, earlierIds: ids.slice(0, i) }),
    }
    return Object.entries(messages).flatMap(([field, message]) =>
      message ? [{ field: `attachments[${i}].${field}`, message }] : [],
    )
  })
  faults.push(...invitationFaults(invitations))
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

function contentTypeFault({ contentType }: Given, otherMethod: string | undefined): string | undefined {
  if (contentType === undefined) return undefined
  const type = readParameters(contentType)
  if (!CONTENT_TYPE_FIELD.test(contentType) || type.rest !== '') {
    return 'must be a media type such as image/png, with parameters such as text/calendar; method=REQUEST'
  }
  // Readers would unpack it, and filters that look only at the outer message would miss it.
  if (/^(?:multipart|message)\//.test(type.value)) return 'must not be multipart/* or message/*'
  return parameterFault(type) ?? methodFault(type, otherMethod)
}

function parameterFault({ parameters }: Parameterised): string | undefined {
  const names = parameters.map(([name]) => name)
  const unknown = names.find((name) => !PARAMETERS.includes(name))
  if (unknown) return `has the parameter ${unknown}. It may have charset, method, component, format and name`
  const twice = names.find((name, i) => names.indexOf(name) < i)
  if (twice) return `has the parameter ${twice} twice`
  for (const [name, value] of parameters) {
    if (value === '' || value.length > MAX_PARAMETER)
      return `has a ${name} that is not 1 to ${MAX_PARAMETER} characters`
    if (hasControls(value)) return `has a ${name} with a control character`
    if (name !== 'name' && !isToken(value)) return `has a ${name} with characters that no ${name} has`
  }
  return undefined
}

/** Clients ignore an invitation whose two methods differ, or believe one of them (RFC 6047 2.4). */
function methodFault(type: Parameterised, other: string | undefined): string | undefined {
  if (other === undefined) return undefined
  const method = parameterOf(type, 'method')
  return `has method=${method}, but the METHOD in the calendar is ${cleanText(other.slice(0, 40))}. They must be the same`
}

function invitationFaults(invitations: { index: number }[]): FieldFault[] {
  const message = 'is a second calendar with a method. A message holds one invitation'
  return invitations.slice(1).map(({ index }) => ({ field: `attachments[${index}].content_type`, message }))
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
