import { useState } from 'react'
import styles from './outside-text.module.css'
import { beginning, visiblePieces } from './visible-controls.ts'

interface OutsideTextProps {
  text: string
  /** Shows one line, cut at the edge: for rows of lists. */
  line?: boolean
  /** Monospace, as a server wrote it. */
  mono?: boolean
  /** Shows some pages of it before the cut: for a text that a page is about. */
  long?: boolean
}

const CUT = { characters: 800, lines: 12 }
const LONG = { characters: 40_000, lines: 800 }
const LINE = { characters: 300, lines: 1 }

/**
 * Text that a mail server, a sender or an endpoint wrote. It cannot change the order of what stands around it, its
 * invisible characters are visible, and a long one is cut.
 */
export function OutsideText({ text, line = false, mono = false, long = false }: OutsideTextProps) {
  const [all, setAll] = useState(false)
  const shown = all ? text : beginning(text, line ? LINE : long ? LONG : CUT)
  const className = [styles.text, line && styles.line, mono && 'mono'].filter(Boolean).join(' ')
  return (
    <>
      <bdi className={className} dir="auto">
        {visiblePieces(shown).map((piece, at) =>
          piece.control ? (
            // biome-ignore lint/suspicious/noArrayIndexKey: a text's pieces have no other identity
            <span key={at} className={styles.control} title={piece.control}>
              {piece.text}
            </span>
          ) : (
            piece.text
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
