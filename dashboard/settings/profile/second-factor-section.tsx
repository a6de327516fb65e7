import { Button } from '@mantine/core'
import { useState } from 'react'
import { Pill } from '../../status/status-pill.tsx'
import styles from '../settings.module.css'
import { SecondFactorDialog } from './second-factor-dialog.tsx'
import { TurnOffDialog } from './turn-off-dialog.tsx'

/** Whether signing in needs a code from an authenticator app. */
export function SecondFactorSection({ isOn }: { isOn: boolean }) {
  const [open, setOpen] = useState(false)
  const close = () => setOpen(false)
  return (
    <section className={styles.section}>
      <h2>Second factor</h2>
      <p className="soft">
        With it, signing in needs your password and a code from an authenticator app, so that a stolen password is not
        enough. Turning it on or off ends your sessions in every other browser.
      </p>
      <div className={styles.line}>
        <Pill tone={isOn ? 'delivered' : 'neutral'} word={isOn ? 'On' : 'Off'} />
        <Button variant="default" onClick={() => setOpen(true)}>
          {isOn ? 'Turn off' : 'Turn on'}
        </Button>
      </div>
      {open && (isOn ? <TurnOffDialog onClose={close} /> : <SecondFactorDialog onClose={close} />)}
    </section>
  )
}
