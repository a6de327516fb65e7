import { Button } from '@mantine/core'
import { useState } from 'react'
import { useAccount } from '../account/account.ts'
import { HtmlFrame, storedHtmlPath } from '../html-frame/html-frame.tsx'
import styles from './message.module.css'

/** The stored HTML, loaded when one asks for it. */
export function MessagePreview({ messageId }: { messageId: string }) {
  const { membership } = useAccount()
  const [shown, setShown] = useState(false)
  return (
    <section className={styles.section}>
      <div className={styles.sectionHead}>
        <h2>HTML</h2>
        {!shown && (
          <Button variant="default" size="compact-xs" onClick={() => setShown(true)}>
            Show preview
          </Button>
        )}
      </div>
      {shown && <HtmlFrame path={storedHtmlPath(membership.accountId, messageId)} />}
    </section>
  )
}
