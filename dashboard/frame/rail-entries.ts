import {
  type Icon,
  IconBan,
  IconBolt,
  IconChartBar,
  IconInbox,
  IconMail,
  IconSettings,
  IconWorld,
} from '@tabler/icons-react'

interface RailEntry {
  label: string
  to:
    | '/$account'
    | '/$account/messages'
    | '/$account/events'
    | '/$account/domains'
    | '/$account/suppressions'
    | '/$account/inbox'
    | '/$account/settings'
  icon: Icon
  /** The second key after `g`. */
  key: string
  /** Only where the simulator's inbox can be read. */
  inbox?: boolean
}

/** The pages in the rail, in order. The list of keys shows them, too. */
export const RAIL_ENTRIES: RailEntry[] = [
  { label: 'Overview', to: '/$account', icon: IconChartBar, key: 'o' },
  { label: 'Messages', to: '/$account/messages', icon: IconMail, key: 'm' },
  { label: 'Events', to: '/$account/events', icon: IconBolt, key: 'e' },
  { label: 'Domains', to: '/$account/domains', icon: IconWorld, key: 'd' },
  { label: 'Suppressions', to: '/$account/suppressions', icon: IconBan, key: 'u' },
  { label: 'Inbox', to: '/$account/inbox', icon: IconInbox, key: 'i', inbox: true },
  { label: 'Settings', to: '/$account/settings', icon: IconSettings, key: 's' },
]
