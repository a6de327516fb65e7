import { Fragment, type ReactNode } from 'react'

/** A text with addresses, each of which may continue in the next line from its `@` on. */
export function breakable(text: string): ReactNode {
  const [first, ...rest] = text.split('@')
  return (
    <>
      {first}
      {rest.map((part, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a text's parts have no other identity
        <Fragment key={at}>
          <wbr />@{part}
        </Fragment>
      ))}
    </>
  )
}
