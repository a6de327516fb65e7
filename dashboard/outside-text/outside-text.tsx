import { Fragment, useState } from 'react'
import { breakable, breakableAtDots } from './breakable.tsx'
import styles from './outside-text.module.css'
import { beginning, visiblePieces } from './visible-controls.ts'

interface OutsideTextProps {
  text: string
  /** Shows one line, cut at the edge: for rows of lists. */
  line?: boolean
  /** Holds addresses: the place before an `@` is the first where a line may end within a word. */
  addresses?: boolean
  /** Monospace, as a server wrote it. */
  mono?: boolean
  /** Shows some pages of it before the cut: for a text that a page is about. */
  long?: boolean
}

const CUT = { characters: 800, lines: 12 }
const LONG = { characters: 40_000, lines: 800 }
const LINE = { characters: 300, lines: 1 }

/**
 * Text that a mail server, a sender or an endpoint wrote. It cannot change the order of the text around it, its
 * invisible characters are visible, and a long one is cut.
 */
export function OutsideText({ text, line = false, addresses = false, mono = false, long = false }: OutsideTextProps) {
  const [all, setAll] = useState(false)
  const shown = all ? text : beginning(text, line ? LINE : long ? LONG : CUT)
  const pieces = visiblePieces(shown)
  const className = [styles.text, line && styles.line, mono && 'mono'].filter(Boolean).join(' ')
  return (
    <>
      <bdi className={className} dir="auto" title={line ? pieces.map(({ text }) => text).join('') : undefined}>
        {pieces.map((piece, at) =>
          piece.control ? (
            // biome-ignore lint/suspicious/noArrayIndexKey: a text's pieces have no other identity
            <span key={at} className={styles.control} title={piece.control}>
              {piece.text}
            </span>
          ) : addresses ? (
            // biome-ignore lint/suspicious/noArrayIndexKey: a text's pieces have no other identity
            <Fragment key={at}>{breakable(piece.text)}</Fragment>
          ) : line ? (
            piece.text
          ) : (
            // biome-ignore lint/suspicious/noArrayIndexKey: a text's pieces have no other identity
            <Fragment key={at}>{breakableAtDots(piece.text)}</Fragment>
          ),
        )}
        {shown !== text && '…'}
      </bdi>
      {!line && shown !== text && (
        <button type="button" className={styles.more} onClick={() => setAll(true)}>
          Show all ({text.length.toLocaleString('en')} characters)
        </button>
      )}
    </>
  )
}
