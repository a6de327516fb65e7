import { Button } from '@mantine/core'
import { useState } from 'react'
import styles from './html-frame.module.css'

/**
 * The HTML of a message, at a path under `/dashboard/frame`. It runs no script and opens no link: both the frame and
 * the policy of its path put it into a sandbox. Remote images load only when the person asks.
 */
export function HtmlFrame({ path }: { path: string }) {
  const [remoteImages, setRemoteImages] = useState(false)
  return (
    <div className={styles.block}>
      <div className={styles.bar}>
        <p className="soft">
          {remoteImages
            ? 'Remote images are loaded. Links do not open here.'
            : 'Links do not open here, and no remote image is loaded: it would tell the sender that you opened the message.'}
        </p>
        {!remoteImages && (
          <Button variant="default" size="xs" onClick={() => setRemoteImages(true)}>
            Load remote images
          </Button>
        )}
      </div>
      <iframe
        className={styles.frame}
        src={remoteImages ? `${path}?images=remote` : path}
        title="HTML of the message"
        sandbox=""
        referrerPolicy="no-referrer"
      />
    </div>
  )
}

/** The path of a message's stored HTML. It exists only when content is stored. */
export const storedHtmlPath = (accountId: string, messageId: string) =>
  `/dashboard/frame/messages/${accountId}/${messageId}`
