import type { Timestamp } from '@bufbuild/protobuf/wkt'
import { msOf } from './ms-of.ts'
import { useNow } from './now.ts'
import { minuteOf, relativeTime, utcTime } from './times.ts'

interface TimeProps {
  at: Timestamp | undefined
}

/** A time as its distance from now; the exact time in UTC on hover. */
export function Ago({ at }: TimeProps) {
  const ms = msOf(at)
  const words = useNow((now) => relativeTime(ms, now))
  return <TimeElement ms={ms} words={words} />
}

/** A time in the reader's zone; the exact time in UTC on hover. */
export function Moment({ at }: TimeProps) {
  const ms = msOf(at)
  return <TimeElement ms={ms} words={minuteOf(ms)} />
}

/** The distance to a future time: `in 4 min`. After that time `passed` is shown. */
export function Countdown({ at, passed }: TimeProps & { passed: string }) {
  const ms = msOf(at)
  const words = useNow((now) => (ms <= now ? passed : relativeTime(ms, now)))
  return <TimeElement ms={ms} words={words} />
}

function TimeElement({ ms, words }: { ms: number; words: string }) {
  return (
    <time dateTime={new Date(ms).toISOString()} title={utcTime(ms)}>
      {words}
    </time>
  )
}
