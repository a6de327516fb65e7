import { Role } from '../../gen/verdict/admin/v1/options_pb.ts'
import { useMay } from './account.ts'
import styles from './reader-note.module.css'

/** Says why a page has no actions. Renders nothing for a person who may change things. */
export function ReaderNote() {
  if (useMay(Role.MEMBER)) return null
  return <p className={`soft ${styles.note}`}>You are a reader of this account. Ask an owner to change things.</p>
}
