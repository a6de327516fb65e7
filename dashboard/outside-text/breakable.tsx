import { Fragment, type ReactNode } from 'react'

/** A text with addresses, each of which may continue in the next line from its `@` on. */
export const breakable = (text: string): ReactNode => withBreaks(text.split(/(?=@)/))

/** A text with host names, each of which may continue in the next line from one of its dots on. */
export const breakableAtDots = (text: string): ReactNode => withBreaks(text.split(/(?<=[\w-]{2})(?=\.[\w-]{2})/))

function withBreaks(parts: string[]): ReactNode {
  return parts.map((part, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: a text's parts have no other identity
    <Fragment key={at}>
      {at > 0 && <wbr />}
      {part}
    </Fragment>
  ))
}
