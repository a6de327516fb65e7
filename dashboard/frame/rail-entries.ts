import { type Icon, IconSettings } from '@tabler/icons-react'

interface RailEntry {
  label: string
  to: '/$account/settings'
  icon: Icon
  /** The second key after `g`. */
  key: string
  /** Only where the simulator's inbox can be read. */
  inbox?: boolean
}

/** The pages in the rail, in order. The list of keys shows them, too. */
export const RAIL_ENTRIES: RailEntry[] = [{ label: 'Settings', to: '/$account/settings', icon: IconSettings, key: 's' }]
