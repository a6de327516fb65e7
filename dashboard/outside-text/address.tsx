import { breakable } from './breakable.tsx'
import styles from './outside-text.module.css'

/**
 * An email address in a row of a list, on one line. Where its end is cut, a pointer, or the focus of the link around
 * it, shows the whole, and a copy has all of it. On a narrow screen, or with `wrap`, it continues in the next line.
 */
export function EmailAddress({ email, wrap = false }: { email: string; wrap?: boolean }) {
  return (
    <bdi className={wrap ? styles.wrapped : styles.address} title={wrap ? undefined : email}>
      {wrap ? breakable(email) : email}
    </bdi>
  )
}
