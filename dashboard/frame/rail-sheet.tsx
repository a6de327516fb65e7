import { Drawer } from '@mantine/core'
import { Rail } from './rail.tsx'

/** The rail on a narrow screen. */
export function RailSheet({ onClose }: { onClose(): void }) {
  return (
    <Drawer opened onClose={onClose} size={272} padding={12} title="Menu">
      <Rail onNavigate={onClose} />
    </Drawer>
  )
}
