import { fail } from '../../errors.ts'
import { type BodyLimits, holderOf, readBody } from '../body/body.ts'
import type { Call } from '../call.ts'
import { readJsonText } from './json-text.ts'

const OTHER_CHARSET = /;\s*charset\s*=\s*(?!"?(utf-?8|us-ascii)"?\s*(;|$))/i

/** The body as JSON; `{}` for an empty body, which then fails for its missing fields. */
export async function readJson(call: Call, limits: BodyLimits): Promise<unknown> {
  if (hasBody(call)) refuseOtherTypes(call)
  const json = await readJsonText(await readBody(call, limits), holderOf(call))
  return json === undefined ? {} : json
}

/** Whether a body follows the headers. Some HTTP libraries name the type of a form for a POST without one. */
function hasBody({ raw }: Call): boolean {
  const length = raw.headers['content-length']
  if (length !== undefined) return length !== '0'
  return 'stream' in raw ? !raw.stream.endAfterHeaders : raw.headers['transfer-encoding'] !== undefined
}

function refuseOtherTypes({ raw }: Call): void {
  const type = raw.headers['content-type']
  const isJson = type === undefined || /^\s*application\/json\s*(;|$)/i.test(type)
  if (!isJson || OTHER_CHARSET.test(type ?? '')) {
    throw fail(
      'unsupported_media_type',
      'The body must be JSON in UTF-8: send the header "Content-Type: application/json".',
    )
  }
  const encoding = raw.headers['content-encoding'] ?? 'identity'
  if (encoding.toLowerCase() !== 'identity') {
    throw fail('unsupported_media_type', 'The body must not be compressed: leave out Content-Encoding.')
  }
}
