import { Drawer } from '@mantine/core'
import styles from './rail.module.css'
import { Rail } from './rail.tsx'

/** The rail on a narrow screen. */
export function RailSheet({ onClose }: { onClose(): void }) {
  return (
    <Drawer
      opened
      onClose={onClose}
      size={272}
      title="Menu"
      classNames={{ header: styles.sheetHeader, body: styles.sheetBody }}
    >
      <Rail onNavigate={onClose} />
    </Drawer>
  )
}
