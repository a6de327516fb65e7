import { Button } from '@mantine/core'
import { useState } from 'react'
import styles from './html-frame.module.css'

interface HtmlFrameProps {
  /** A path under `/dashboard/frame`, whose response has a policy of its own. */
  path: string
  title: string
}

/**
 * The HTML of a message. It runs no script and opens no link: both the frame and the policy of its path put it into a
 * sandbox. Remote images load only when the person asks.
 */
export function HtmlFrame({ path, title }: HtmlFrameProps) {
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
        title={title}
        sandbox=""
        referrerPolicy="no-referrer"
      />
    </div>
  )
}

/** The path of a message's stored HTML. It exists only when content is stored. */
export const storedHtmlPath = (accountId: string, messageId: string) =>
  `/dashboard/frame/messages/${accountId}/${messageId}`
