import type { MessageInitShape } from '@bufbuild/protobuf'
import type { Timestamp } from '@bufbuild/protobuf/wkt'
import { callUnaryMethod, createConnectQueryKey, useTransport } from '@connectrpc/connect-query'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import {
  type CountEventsResponse,
  type ReplayFilterSchema,
  ReplayService,
} from '../../gen/verdict/admin/v1/replays_pb.ts'

export interface EventCount {
  count: number
  /** Whether there are more than are counted. */
  more: boolean
  /** False while older events are still counted. */
  isComplete: boolean
  /** Whether nothing is counted yet, or a call follows. */
  isCounting: boolean
}

interface CountOptions {
  /** How many calls a count makes at most. */
  mostCalls?: number
  refetchInterval?: number
}

/** Counts the events that a filter matches. Each call counts for a moment, and the next one the events before it. */
export function useEventCount(
  filter: MessageInitShape<typeof ReplayFilterSchema> & { to?: Timestamp },
  { mostCalls = Number.POSITIVE_INFINITY, refetchInterval }: CountOptions = {},
): EventCount & { error: Error | null } {
  const transport = useTransport()
  const schema = ReplayService.method.countEvents
  const { data, error, hasNextPage, isFetching, fetchNextPage } = useInfiniteQuery({
    queryKey: createConnectQueryKey({ schema, input: { filter }, transport, cardinality: 'infinite' }),
    queryFn: ({ pageParam, signal }) =>
      callUnaryMethod(transport, schema, { filter: { ...filter, to: pageParam } }, { signal }),
    initialPageParam: filter.to,
    getNextPageParam: ({ countedFrom }: CountEventsResponse) => countedFrom,
    refetchInterval,
  })
  const goesOn = hasNextPage && !isFetching && !error && (data?.pages.length ?? 0) < mostCalls
  useEffect(() => {
    if (goesOn) void fetchNextPage()
  }, [goesOn, fetchNextPage])
  const counts = data?.pages.map(({ count }) => count) ?? []
  const more = data?.pages.at(-1)?.more ?? false
  const isComplete = !!data && !hasNextPage
  const isCounting = !data || (hasNextPage && !error && data.pages.length < mostCalls)
  return { count: counts.reduce((sum, count) => sum + count, 0), more, isComplete, isCounting, error }
}
