import { Code, ConnectError, createClient } from '@connectrpc/connect'
import { useTransport } from '@connectrpc/connect-query'
import { type QueryClient, queryOptions, useQueries, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { EmailService } from '../../gen/verdict/v1/emails_pb.ts'
import { SuppressionService } from '../../gen/verdict/v1/suppression_pb.ts'
import { messagesRequest } from '../messages/message-filters.ts'
import type { Reading } from './search-place.ts'

/** How long each reading is looked for, how long Enter waits, and how long a person has to stop typing before it is. */
const SEARCH_MS = 2_000
const ENTER_MS = 300
const PAUSE_MS = 150
const FRESH_MS = 15_000
const MOST = 100

/** What a reading finds: a number, `100+`, or `not searched in time` without a count. Undefined for a page. */
export type SearchCount = { count?: number; words: string } | undefined

/** Asks for all readings side by side. Those that find nothing come last. */
export function useSearch(readings: Reading[], isOpen: boolean) {
  const calls = useCalls()
  const isPause = usePause(readings.map(({ place }) => place).join(' '))
  const found = useQueries({
    queries: readings.map((reading) => ({ ...optionsOf(reading, calls), enabled: isOpen && isPause })),
  })
  const shown = readings.map((reading, i) => ({ ...reading, found: found[i]?.data ?? undefined }))
  const client = useQueryClient()
  return {
    readings: found.every(({ isSuccess }) => isSuccess) ? byFound(shown) : shown,
    /** The best reading, by what is known `ENTER_MS` later. */
    best: async () => (await bestOf(readings, calls, client)) ?? readings[0],
  }
}

type Calls = ReturnType<typeof useCalls>

function useCalls() {
  const transport = useTransport()
  return { emails: createClient(EmailService, transport), suppressions: createClient(SuppressionService, transport) }
}

/** Whether the text has not changed for a moment. */
function usePause(text: string): boolean {
  const [paused, setPaused] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setPaused(text), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [text])
  return paused === text
}

const optionsOf = (reading: Reading, calls: Calls) =>
  queryOptions({
    queryKey: ['search', reading.place],
    // A query has no undefined.
    queryFn: async ({ signal }) => (await search(reading, calls, signal)) ?? null,
    staleTime: FRESH_MS,
    retry: false,
  })

async function search({ finds }: Reading, { emails, suppressions }: Calls, signal: AbortSignal): Promise<SearchCount> {
  if (!finds) return undefined
  const options = { signal, timeoutMs: SEARCH_MS }
  try {
    if ('suppressions' in finds) {
      const { entries, hasMore } = await suppressions.list({ email: finds.suppressions, limit: MOST }, options)
      return counted(entries.length, hasMore)
    }
    if ('refusedSends' in finds) {
      const asked = { recipient: finds.refusedSends, limit: MOST }
      const { refusedSends, hasMore } = await emails.listRefusedSends(asked, options)
      return counted(refusedSends.length, hasMore)
    }
    const { emails: found, hasMore } = await emails.listEmails(
      { ...messagesRequest(finds.messages), limit: MOST },
      options,
    )
    return counted(found.length, hasMore)
  } catch (error) {
    signal.throwIfAborted()
    const { code } = ConnectError.from(error)
    // What the service does not read that way is not found that way.
    if (code === Code.InvalidArgument) return counted(0, false)
    return { words: code === Code.DeadlineExceeded ? 'not searched in time' : 'not searched' }
  }
}

const counted = (count: number, hasMore: boolean) => ({ count, words: hasMore ? `${count}+` : String(count) })

/** What may find something before what does not. */
const byFound = <One extends { found: SearchCount }>(readings: One[]) => [
  ...readings.filter(({ found }) => found?.count !== 0),
  ...readings.filter(({ found }) => found?.count === 0),
]

async function bestOf(readings: Reading[], calls: Calls, client: QueryClient): Promise<Reading | undefined> {
  const enough = new Promise<undefined>((resolve) => setTimeout(resolve, ENTER_MS))
  const found = readings.map(async (reading) => {
    // The person types on: the look-up ends.
    const asked = client.fetchQuery(optionsOf(reading, calls)).catch(() => undefined)
    const known = await Promise.race([asked, enough])
    return { ...reading, found: known ?? undefined }
  })
  return byFound(await Promise.all(found))[0]
}
