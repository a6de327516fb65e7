import { type ReactNode, useEffect, useRef } from 'react'
import { useAccount } from '../account/account.ts'
import { breakableAtDots } from '../outside-text/breakable.tsx'
import styles from './frame.module.css'

interface PageProps {
  title: string
  /** In place of the title when the heading needs more than text. */
  heading?: ReactNode
  /** Where the page is, above its heading. */
  above?: ReactNode
  /** Buttons beside the heading. */
  actions?: ReactNode
  children: ReactNode
}

/** The path that the browser opened, until another page is shown. The focus stays at its top, before the menu. */
let openedPath: string | undefined = location.pathname

/** A page of an account: its title in the tab, its heading, and the focus that moves to it. */
export function Page({ title, heading, above, actions, children }: PageProps) {
  const { membership } = useAccount()
  const headingElement = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    if (location.pathname === openedPath) return
    openedPath = undefined
    // A link that led here is gone: without this a screen reader would stay at the top of nothing.
    if (document.activeElement === document.body) headingElement.current?.focus({ preventScroll: true })
  }, [])
  return (
    <>
      <title>{`${title} · ${membership.name} · Verdict`}</title>
      {above}
      <header className={styles.pageHeader}>
        <h1 ref={headingElement} tabIndex={-1}>
          {heading ?? breakableAtDots(title)}
        </h1>
        {actions && <div className={styles.pageActions}>{actions}</div>}
      </header>
      {children}
    </>
  )
}
