import { Drawer } from '@mantine/core'
import { HIDDEN, useIsCovered } from '../dialog/open-dialogs.ts'
import styles from './rail.module.css'
import { Rail } from './rail.tsx'

/** The rail on a narrow screen. */
export function RailSheet({ onClose }: { onClose(): void }) {
  const isCovered = useIsCovered(true)
  return (
    <Drawer
      opened
      closeOnEscape={!isCovered}
      trapFocus={!isCovered}
      style={isCovered ? HIDDEN : undefined}
      onClose={onClose}
      size={272}
      title="Menu"
      classNames={{ header: styles.sheetHeader, body: styles.sheetBody }}
    >
      <Rail onNavigate={onClose} />
    </Drawer>
  )
}
