import { Dialog } from '../dialog/dialog.tsx'
import styles from './frame.module.css'
import { RAIL_ENTRIES } from './rail-entries.ts'

const KEYS: [keys: string, does: string][] = [
  ['/', 'Search'],
  ['Ctrl K', 'Go to a page, search, or do something'],
  ['j', 'Next row'],
  ['k', 'Previous row'],
  ['Enter', 'Open the row'],
  ['?', 'Show the keys'],
]

/** Every key that the pages know. */
export function KeyList({ onClose }: { onClose(): void }) {
  const goTo = RAIL_ENTRIES.map(({ key, label }): [string, string] => [`g ${key}`, `Go to ${label}`])
  return (
    <Dialog opened onClose={onClose} title="Keys" size="sm">
      <dl className={styles.keys}>
        {[...KEYS, ...goTo].map(([keys, does]) => (
          <div key={keys}>
            <dt>
              {keys.split(' ').map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
