import {
  type Icon,
  IconAlertCircle,
  IconAlertTriangle,
  IconArrowBackUp,
  IconBan,
  IconCheck,
  IconClock,
  IconHelp,
  IconMinus,
} from '@tabler/icons-react'
import { DeliveryStatus } from '../../gen/verdict/v1/outcomes_pb.ts'
import { shownIn } from './shown-in.ts'

/** The state of something. Each has a colour, an icon and a word: never the colour alone. */
export type Tone = 'delivered' | 'bounced' | 'rejected' | 'doubt' | 'warning' | 'error' | 'waiting' | 'neutral'

export const TONE_ICONS: Record<Tone, Icon> = {
  delivered: IconCheck,
  bounced: IconArrowBackUp,
  rejected: IconBan,
  doubt: IconHelp,
  warning: IconAlertTriangle,
  error: IconAlertCircle,
  waiting: IconClock,
  neutral: IconMinus,
}

/** How a state is shown. */
export interface ShownState {
  tone: Tone
  word: string
}

const OUTCOMES: Record<DeliveryStatus, ShownState> = {
  [DeliveryStatus.UNSPECIFIED]: { tone: 'waiting', word: 'Sending' },
  [DeliveryStatus.DELIVERED]: { tone: 'delivered', word: 'Delivered' },
  [DeliveryStatus.BOUNCED]: { tone: 'bounced', word: 'Bounced' },
  [DeliveryStatus.REJECTED]: { tone: 'rejected', word: 'Rejected' },
}

/** Tone and word of an outcome. An email in doubt has the status `bounced`, and is shown as what it is. */
export function shownOutcome(status: DeliveryStatus, inDoubt = false): ShownState {
  return inDoubt ? { tone: 'doubt', word: 'In doubt' } : shownIn(OUTCOMES, status)
}
