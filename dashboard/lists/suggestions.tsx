import { useQuery } from '@connectrpc/connect-query'
import { Granularity, type GroupBy, StatsService } from '../../gen/verdict/v1/stats_pb.ts'
import { useAccount } from '../account/account.ts'
import { OTHER_GROUP } from '../numbers/groups.ts'
import styles from './filters.module.css'

const DAYS = 30
const HOUR_MS = 3_600_000
const MOST = 8

interface SuggestionsProps {
  by: GroupBy
  /** What people call a value. */
  nameOf?(value: string): string
  /** What was typed so far. */
  text: string
  onChoose(value: string): void
}

/** The most used values of the last 30 days that contain the typed text. */
export function Suggestions({ by, nameOf = same, text, onChoose }: SuggestionsProps) {
  const now = Math.ceil(Date.now() / HOUR_MS) * HOUR_MS
  const request = {
    by,
    from: new Date(now - DAYS * 24 * HOUR_MS).toISOString(),
    to: new Date(now).toISOString(),
    granularity: Granularity.TOTAL,
  }
  const live = useQuery(StatsService.method.getStats, request, { staleTime: 60_000 })
  // Under `npm start` most emails go to the simulator, and these are counted apart.
  const { person } = useAccount()
  const simulated = useQuery(
    StatsService.method.getStats,
    { ...request, simulated: true },
    { staleTime: 60_000, enabled: person.installation?.inbox === true },
  )
  const typed = text.trim().toLowerCase()
  const groups = [...(live.data?.groups ?? []), ...(simulated.data?.groups ?? [])]
  const values = [...new Set(groups.map(({ key }) => key))].filter((key) => key !== '' && key !== OTHER_GROUP)
  const fits = (value: string) => `${value} ${nameOf(value)}`.toLowerCase().includes(typed) && value !== text
  const fitting = values.filter(fits).slice(0, MOST)
  if (fitting.length === 0) return null
  return (
    <ul className={styles.suggestions} aria-label="Values of the last 30 days">
      {fitting.map((value) => (
        <li key={value}>
          <button type="button" className={styles.choice} onClick={() => onChoose(value)}>
            <bdi>{nameOf(value)}</bdi>
          </button>
        </li>
      ))}
    </ul>
  )
}

const same = (value: string) => value
