import styles from './copy.module.css'
import { CopyButton } from './copy-button.tsx'
import { shortened } from './shortened.ts'

/** An identifier, shortened in the middle and copied whole. */
export function ShortId({ id, label, whole = false }: { id: string; label: string; whole?: boolean }) {
  return (
    <span className={styles.id}>
      <code title={id}>{whole ? id : shortened(id)}</code>
      <CopyButton text={id} label={label} />
    </span>
  )
}
