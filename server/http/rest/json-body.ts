import { fail } from '../../errors.ts'
import { type BodyLimits, readBody } from '../body/body.ts'
import type { Call } from '../call.ts'
import { parseJson } from './json-text.ts'

const OTHER_CHARSET = /;\s*charset\s*=\s*(?!"?(utf-?8|us-ascii)"?\s*(;|$))/i

/** The body as JSON; `{}` for an empty body, which then fails for its missing fields. */
export async function readJson(call: Call, limits: BodyLimits): Promise<unknown> {
  const type = call.raw.headers['content-type']
  const isJson = type === undefined || /^\s*application\/json\s*(;|$)/i.test(type)
  if (!isJson || OTHER_CHARSET.test(type ?? '')) {
    throw fail(
      'unsupported_media_type',
      'The body must be JSON in UTF-8: send the header "Content-Type: application/json".',
    )
  }
  const encoding = call.raw.headers['content-encoding'] ?? 'identity'
  if (encoding.toLowerCase() !== 'identity') {
    throw fail('unsupported_media_type', 'The body must not be compressed: leave out Content-Encoding.')
  }
  const json = parseJson(await readBody(call, limits))
  return json === undefined ? {} : json
}
