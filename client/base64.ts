/** More arguments of one call than this may overflow the stack. */
const PIECE = 8_192

export function base64(bytes: Uint8Array): string {
  let binary = ''
  for (let i = 0; i < bytes.length; i += PIECE) binary += String.fromCharCode(...bytes.subarray(i, i + PIECE))
  return btoa(binary)
}
