// The part of an address before its `@` (RFC 5321 4.1.2, and RFC 6531 3.3 for letters beyond ASCII).

/** Octets of UTF-8 (RFC 5321 4.5.3.1.1). */
export const MAX_LOCAL = 64

const DOT_STRING =
  /^[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~\u0080-\u{10ffff}]+(?:\.[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~\u0080-\u{10ffff}]+)*$/u
const QUOTED_STRING = /^"((?:[ !#-[\]-~\u0080-\u{10ffff}]|\\[ -~])*)"$/u
const ASCII = /^[\x00-\x7f]*$/

/**
 * Characters that a reader does not see, that reorder the text around them, or that no version of Unicode has yet. An
 * address with one of them looks like another address. U+FFFD replaces an octet that was not understood.
 */
const HIDDEN = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\ufffd]/u
/** A mark that would combine with the syntax before it: `<` and U+0338 are shown as one sign. */
const LOOSE_MARK = /(?:^|[\x00-\x2f:-@[-`{-\x7f])\p{M}/u
/** What RFC 5322 gives a meaning. Some systems turn `＠` and `．` into these. */
const SYNTAX = /[\x00-\x20"(),.:;<>@[\\\]\x7f]/

/** The local part in NFC, quoted only where quotes are necessary. Undefined for a text that is no local part. */
export function parseLocal(text: string): string | undefined {
  if (text.length > MAX_LOCAL) return undefined
  const local = ASCII.test(text) ? text : normalised(text)
  if (local === undefined || DOT_STRING.test(local)) return local
  const quoted = QUOTED_STRING.exec(local)?.[1]
  if (quoted === undefined) return undefined
  const bare = quoted.replace(/\\(.)/gu, '$1')
  return DOT_STRING.test(bare) ? bare : quote(bare)
}

/** The text in NFC (RFC 6532 3.1); undefined when it deceives or is too long. */
function normalised(text: string): string | undefined {
  if (!text.isWellFormed()) return undefined
  const local = text.normalize('NFC')
  const letters = local.replace(/[\x00-\x7f]+/g, '')
  if (HIDDEN.test(letters) || LOOSE_MARK.test(local)) return undefined
  if ([...letters].some((letter) => SYNTAX.test(letter.normalize('NFKC')))) return undefined
  return Buffer.byteLength(local) > MAX_LOCAL ? undefined : local
}

export function quote(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}
