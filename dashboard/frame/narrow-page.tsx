import type { ReactNode } from 'react'
import styles from './frame.module.css'
import { BrandMark } from './mark.tsx'

/** A page outside of an account: signing in, an invitation, an error. */
export function NarrowPage({ title, children }: { title: string; children: ReactNode }) {
  return (
    <main className={styles.narrow}>
      <title>{title === 'Verdict' ? title : `${title} · Verdict`}</title>
      <BrandMark />
      <h1>{title}</h1>
      {children}
    </main>
  )
}
