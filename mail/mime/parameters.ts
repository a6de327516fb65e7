// A field's value with parameters (RFC 2045 5.1, RFC 2183 2), as in Content-Type and Content-Disposition.

import { quote } from '../local-part.ts'
import { decodeWords } from './encoded-words.ts'

export interface Parameterised {
  /** In lower case: a media type or a disposition. */
  value: string
  /** Names in lower case, in their order. */
  parameters: [name: string, value: string][]
  /** What follows and is no parameter: empty for a well-formed value. */
  rest: string
}

const TOKEN = "[A-Za-z0-9!#$%&'*+.^_`|~-]+"
const PARAMETER = new RegExp(`[\\t ]*;[\\t ]*(${TOKEN})[\\t ]*=[\\t ]*(?:(${TOKEN})|"((?:[^"\\\\]|\\\\.)*)")`, 'suy')
const END = /[\t ]*$/y
/** A value with more has none that matter to a reader. */
const MAX_PARAMETERS = 50

/** Reads a value on one line. Never throws: what it cannot read is in `rest`. */
export function readParameters(text: string): Parameterised {
  const start = text.search(/[;\t ]/)
  const value = (start < 0 ? text : text.slice(0, start)).toLowerCase()
  const parameters: Parameterised['parameters'] = []
  let at = start < 0 ? text.length : start
  while (parameters.length < MAX_PARAMETERS) {
    PARAMETER.lastIndex = at
    const [whole, name = '', token, quoted = ''] = PARAMETER.exec(text) ?? []
    if (whole === undefined) break
    parameters.push([name.toLowerCase(), token ?? quoted.replace(/\\(.)/gs, '$1')])
    at += whole.length
  }
  END.lastIndex = at
  return { value, parameters, rest: END.test(text) ? '' : text.slice(at) }
}

export function parameterOf({ parameters }: Pick<Parameterised, 'parameters'>, name: string): string | undefined {
  return parameters.find(([given]) => given === name)?.[1]
}

const IS_TOKEN = new RegExp(`^${TOKEN}$`)

/** `text/calendar; method=REQUEST`, on one line. */
export function showParameterised({ value, parameters }: Pick<Parameterised, 'value' | 'parameters'>): string {
  return [value, ...parameters.map(([name, text]) => `${name}=${IS_TOKEN.test(text) ? text : quote(text)}`)].join('; ')
}

export const isToken = (text: string) => IS_TOKEN.test(text)

/** A parameter's text for people, decoded from the forms of RFC 2231 or from encoded words. */
export function textParameter({ parameters }: Pick<Parameterised, 'parameters'>, name: string): string | undefined {
  const pieces: { text: string; isEncoded: boolean }[] = []
  for (const [given, text] of parameters) {
    const [, number, star] = given.startsWith(`${name}*`)
      ? (/^\*(?:(\d{1,2})(\*)?)?$/.exec(given.slice(name.length)) ?? [])
      : []
    if (given === `${name}*`) return percentDecoded(text)
    if (number !== undefined) pieces[Number(number)] = { text, isEncoded: star === '*' }
  }
  if (pieces.length === 0) {
    const plain = parameters.find(([given]) => given === name)?.[1]
    return plain === undefined ? undefined : decodeWords(plain)
  }
  const joined = pieces.map((piece) => (piece.isEncoded ? piece.text : encodeURIComponent(piece.text))).join('')
  return percentDecoded(pieces[0]?.isEncoded ? joined : `utf-8''${joined}`)
}

/** `utf-8'en'%C3%BC` (RFC 2231 4); the text itself where it is not of this form. */
function percentDecoded(text: string): string {
  const [, charset, encoded] = /^([^']{0,40})'[^']{0,40}'(.*)$/s.exec(text) ?? []
  if (encoded === undefined) return text
  const octets = encoded.replace(/%([0-9A-Fa-f]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
  try {
    return new TextDecoder(charset || 'utf-8', { fatal: true }).decode(Buffer.from(octets, 'latin1'))
  } catch {
    return text
  }
}
