import type { DescMethod } from '@bufbuild/protobuf'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { SessionGate } from '../../caller.ts'
import { type ErrorReason, fail, reasonOf } from '../../errors.ts'
import type { Call } from '../call.ts'
import { identify } from '../session-calls.ts'

/**
 * Content that hostile strangers may have written. The keys are paths with `:account`; each function gets the account's
 * UUID and the parameters of its path, and returns undefined for what does not exist.
 */
export interface Frames {
  /** A call that needs the role of a reader, as the frames do. */
  method: DescMethod
  pages: Record<string, FrameReader<string>>
  downloads: Record<string, FrameReader<Download>>
}

export type FrameReader<Content> = (
  accountId: string,
  parameters: Record<string, string>,
) => Promise<Content | undefined>

export interface Download {
  /** Without control and formatting characters. */
  filename: string
  content: Uint8Array
}

/**
 * No script, no form, no window, no request to anywhere: the sandbox also holds for a page that is opened by itself.
 * Remote images load only when the person asked for them.
 */
const policy = (images: string) =>
  [
    'sandbox',
    "default-src 'none'",
    "style-src 'unsafe-inline'",
    `img-src ${images}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'self'",
  ].join('; ')

const HEADERS = {
  'content-security-policy': policy('data:'),
  'x-dns-prefetch-control': 'off',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
}
const REMOTE_IMAGES = policy('data: https:')

/**
 * Frames and downloads of the dashboard. A frame cannot send a header, so the path names the account. What the session
 * may not read does not exist.
 */
export function frameRoutes(fastify: FastifyInstance, { frames, gate }: { frames: Frames; gate: SessionGate }): void {
  const serve = <Content>(
    readers: Record<string, FrameReader<Content>>,
    respond: (content: Content, reply: FastifyReply, request: FastifyRequest) => unknown,
  ) => {
    for (const [path, read] of Object.entries(readers)) {
      fastify.get<{ Params: Record<string, string> }>(`/dashboard/frame${path}`, async (request, reply) => {
        request.call.path = request.routeOptions.url
        const { account = '' } = request.params
        const accountId = await readableAccount(gate, request.call, frames.method, account)
        const content = accountId === undefined ? undefined : await read(accountId, request.params)
        if (content === undefined) throw fail('not_found', 'There is nothing at this path.')
        return respond(content, reply.headers(HEADERS), request)
      })
    }
  }
  serve(frames.pages, page)
  serve(frames.downloads, download)
}

const HIDDEN: readonly (ErrorReason | undefined)[] = ['invalid_session', 'not_found', 'insufficient_role']

/** The UUID of the account in the path; undefined when the call's session may not read it. */
async function readableAccount(
  gate: SessionGate,
  call: Call,
  method: DescMethod,
  account: string,
): Promise<string | undefined> {
  try {
    return (await identify(gate, call, method, account))?.accountId
  } catch (error) {
    if (HIDDEN.includes(reasonOf(error))) return undefined
    throw error
  }
}

function page(html: string, reply: FastifyReply, request: FastifyRequest): string {
  if (/[?&]images=remote(?:&|$)/.test(request.url)) reply.header('content-security-policy', REMOTE_IMAGES)
  reply.type('text/html; charset=utf-8')
  return html
}

/** A file is never shown, whatever its type: it could be a page with scripts. */
function download({ filename, content }: Download, reply: FastifyReply): Buffer {
  reply.header('content-disposition', disposition(filename)).type('application/octet-stream')
  return Buffer.from(content.buffer, content.byteOffset, content.byteLength)
}

/** RFC 6266 4.3: the name in ASCII, and for all but the oldest clients in UTF-8 (RFC 8187 3.2). */
function disposition(filename: string): string {
  const ascii = filename.replace(/[^ -~]|["\\%]/g, '_')
  const utf8 = encodeURIComponent(filename).replace(/['()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16)}`)
  return `attachment; filename="${ascii}"; filename*=UTF-8''${utf8}`
}
