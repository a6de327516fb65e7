/** Reads `true` or `false` in any case; undefined for anything else, which is refused: a typo must not send. */
export function readTrueOrFalse(value: string): boolean | undefined {
  if (/^false$/i.test(value)) return false
  return /^true$/i.test(value) ? true : undefined
}

export const SANDBOX_FAULT = 'must be true or false'
