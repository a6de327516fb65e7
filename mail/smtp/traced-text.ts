/** A text that was changed, with the offset that each of its characters had before. */
export interface TracedText {
  text: string
  /** One entry for each character, and one for the end. Absent while nothing has changed. */
  offsets?: number[]
}

export const offsetOf = ({ offsets }: TracedText, index: number): number => offsets?.[index] ?? index

/** Replaces what a global pattern matches. A match stays as it is where `by` returns undefined. */
export function replaceTraced(
  traced: TracedText,
  pattern: RegExp,
  by: (match: RegExpExecArray) => string | undefined,
): TracedText {
  const { text } = traced
  let result = ''
  let copied = 0
  let offsets: number[] | undefined
  const copy = (end: number) => {
    result += text.slice(copied, end)
    for (let i = copied; i < end; i++) offsets?.push(offsetOf(traced, i))
  }
  for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
    const [{ length }] = match
    if (length === 0) pattern.lastIndex++
    const replacement = by(match)
    if (replacement === undefined) continue
    offsets ??= []
    copy(match.index)
    copied = match.index + length
    result += replacement
    const [from, to] = [offsetOf(traced, match.index), offsetOf(traced, copied)]
    // The blank behind a name is where the name ends.
    for (let i = 0; i < replacement.length; i++) offsets.push(i > 0 && i === replacement.length - 1 ? to : from)
  }
  if (!offsets) return traced
  copy(text.length)
  offsets.push(offsetOf(traced, text.length))
  return { text: result, offsets }
}
