import type { Timestamp } from '@bufbuild/protobuf/wkt'
import { timestampMs } from '@bufbuild/protobuf/wkt'
import { useNow } from './now.ts'
import { lengthOf, minuteOf, relativeTime, utcTime } from './times.ts'

interface TimeProps {
  at: Timestamp
}

/** A time as its distance from now; the exact time in UTC on hover. */
export function Ago({ at, short = false }: TimeProps & { short?: boolean }) {
  const ms = timestampMs(at)
  const words = useNow((now) => relativeTime(ms, now, short))
  return <TimeElement ms={ms} words={words} />
}

/** A time in the reader's zone; the exact time in UTC on hover. */
export function Moment({ at }: TimeProps) {
  const ms = timestampMs(at)
  return <TimeElement ms={ms} words={minuteOf(ms)} />
}

/** What is left until a time: `4 min 12 s`, after `before`. `passed` is shown from then on. */
export function Countdown({ at, passed = 'now', before = '' }: TimeProps & { passed?: string; before?: string }) {
  const ms = timestampMs(at)
  const words = useNow((now) => (ms <= now ? passed : before + lengthOf(Math.ceil((ms - now) / 1000) * 1000)))
  return <TimeElement ms={ms} words={words} />
}

function TimeElement({ ms, words }: { ms: number; words: string }) {
  return (
    <time dateTime={new Date(ms).toISOString()} title={utcTime(ms)}>
      {words}
    </time>
  )
}
