import { withoutUnfit } from '../../net/clean-text.ts'

/** In bytes of UTF-8. Most file systems allow no longer names. */
const MAX_FILENAME = 255

/**
 * The base name (RFC 2183 2.3) without the characters that no name may have, at most 255 octets of UTF-8; its
 * extension stays. Some of them reorder the text after them, so that `gpj.exe` looks like `exe.jpg`.
 */
export function safeFilename(filename: string): string {
  const path = filename.toWellFormed()
  const base = path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1)
  // Some systems drop dots and spaces at the end, which would hide the extension from the checks of other systems.
  const name = trimEnd(withoutUnfit(base).trim())
  if (name === '') return 'attachment'
  if (Buffer.byteLength(name) <= MAX_FILENAME) return name
  const dot = name.lastIndexOf('.')
  const extension = dot > 0 && name.length - dot <= 16 ? name.slice(dot) : ''
  const room = MAX_FILENAME - Buffer.byteLength(extension)
  let stem = ''
  let octets = 0
  for (const char of name.slice(0, name.length - extension.length)) {
    octets += Buffer.byteLength(char)
    if (octets > room) break
    stem += char
  }
  return stem + extension
}

function trimEnd(name: string): string {
  let end = name.length
  while (end > 0 && (name[end - 1] === '.' || name[end - 1] === ' ')) end--
  return name.slice(0, end)
}
