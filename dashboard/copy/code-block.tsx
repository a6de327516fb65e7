import styles from './copy.module.css'
import { CopyButton } from './copy-button.tsx'

/** A command or a text to copy. */
export function CodeBlock({ code, label, wrap = false }: { code: string; label: string; wrap?: boolean }) {
  return (
    <div className={styles.block} data-wrap={wrap || undefined}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the block scrolls, and a keyboard has to reach it */}
      <section tabIndex={0} aria-label={label} className={styles.scroller}>
        <pre>
          <code>{code}</code>
        </pre>
      </section>
      <span className={styles.blockCopy}>
        <CopyButton text={code} label={label.toLowerCase()} />
      </span>
    </div>
  )
}
