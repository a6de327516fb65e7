import type { ReactNode } from 'react'
import type { DeliveryStatus } from '../../gen/verdict/v1/outcomes_pb.ts'
import styles from './status.module.css'
import { shownOutcome, TONE_ICONS, type Tone } from './statuses.ts'

/** Colour, icon and word of a state. */
export function Pill({ tone, word, large = false }: { tone: Tone; word: ReactNode; large?: boolean }) {
  const Icon = TONE_ICONS[tone]
  return (
    <span className={styles.pill} data-tone={tone} data-large={large || undefined}>
      <Icon size={large ? 16 : 14} stroke={2.2} aria-hidden />
      {word}
    </span>
  )
}

interface StatusPillProps {
  status: DeliveryStatus
  inDoubt?: boolean
  large?: boolean
}

/** The outcome of an email. */
export function StatusPill({ status, inDoubt, large }: StatusPillProps) {
  return <Pill {...shownOutcome(status, inDoubt)} large={large} />
}
