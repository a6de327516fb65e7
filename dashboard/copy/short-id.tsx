import styles from './copy.module.css'
import { CopyButton } from './copy-button.tsx'

/** An identifier, shortened in the middle and copied whole. */
export function ShortId({ id, label, whole = false }: { id: string; label: string; whole?: boolean }) {
  return (
    <span className={styles.id}>
      <code title={id}>{whole ? id : shortened(id)}</code>
      <CopyButton text={id} label={label} />
    </span>
  )
}

/** `msg_01jd…8k2f`: the prefix with the first characters, and the last four. */
export function shortened(id: string): string {
  const start = id.indexOf('_') + 5
  return id.length <= start + 6 ? id : `${id.slice(0, start)}…${id.slice(-4)}`
}
