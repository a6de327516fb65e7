import { type Icon, IconInbox, IconMail, IconSettings, IconWorld } from '@tabler/icons-react'

interface RailEntry {
  label: string
  to: '/$account/messages' | '/$account/domains' | '/$account/inbox' | '/$account/settings'
  icon: Icon
  /** The second key after `g`. */
  key: string
  /** Only where the simulator's inbox can be read. */
  inbox?: boolean
}

/** The pages in the rail, in order. The list of keys shows them, too. */
export const RAIL_ENTRIES: RailEntry[] = [
  { label: 'Messages', to: '/$account/messages', icon: IconMail, key: 'm' },
  { label: 'Domains', to: '/$account/domains', icon: IconWorld, key: 'd' },
  { label: 'Inbox', to: '/$account/inbox', icon: IconInbox, key: 'i', inbox: true },
  { label: 'Settings', to: '/$account/settings', icon: IconSettings, key: 's' },
]
