import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from '@bufbuild/protobuf'
import { callUnaryMethod, createConnectQueryKey, useTransport } from '@connectrpc/connect-query'
import { type InfiniteData, keepPreviousData, useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query'
import { type ListPage, newRowsOf, withNewRows } from './new-rows.ts'

type Pages<Row> = InfiniteData<ListPage<Row>, string | undefined>

interface CursorListParts<I extends DescMessage, O extends DescMessage, Row> {
  /** A method whose request has the field `cursor`, and which lists the newest rows first. */
  method: DescMethodUnary<I, O>
  /** The filters. */
  input: MessageInitShape<I>
  read(response: MessageShape<O>): ListPage<Row>
  idOf(row: Row): string
  /** How often the first page is asked for again. By default 5,000; 0 for never. */
  pollMs?: number
  /** What to ask for in place of the first page, for rows that never change: those that may be newer than these. */
  newer?(rows: Row[]): MessageInitShape<I>
}

export interface CursorList<Row> {
  /** The rows of the loaded pages as they are now; undefined while the first page loads. */
  rows: Row[] | undefined
  error: Error | null
  retry(): void
  hasMore: boolean
  loadMore(): void
  isLoadingMore: boolean
  /** How many rows are newer than those that are shown. */
  newRows: number
  /** Whether there are more new rows than were counted. */
  moreNewRows: boolean
  /** Shows the new rows. */
  showNew(): void
}

/** A list by cursor that is kept up to date: rows change in their place, and new ones wait until they are asked for. */
export function useCursorList<I extends DescMessage, O extends DescMessage, Row>(
  parts: CursorListParts<I, O, Row>,
): CursorList<Row> {
  const { method, input, read, idOf, pollMs = 5_000, newer } = parts
  const transport = useTransport()
  const client = useQueryClient()
  const queryKey: readonly unknown[] = createConnectQueryKey({
    schema: method,
    input,
    transport,
    cardinality: 'infinite',
  })
  const load = async (request: MessageInitShape<I>, signal: AbortSignal) =>
    read(await callUnaryMethod(transport, method, request, { signal }))

  const pages = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) => load({ ...input, cursor: pageParam } as MessageInitShape<I>, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page: ListPage<Row>) => page.next,
    placeholderData: keepPreviousData,
    // While the list is open, its pages change only by `newest`.
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnMount: 'always',
  })
  const asked = pages.data && rowsOf(pages.data)
  // The first rows of an empty list have nothing to push away.
  const shownWith = (newest: ListPage<Row>) => (asked?.length === 0 ? newest.rows : asked)
  const foundIn = (newest: ListPage<Row>) =>
    newRowsOf(newest, { ids: new Set(shownWith(newest)?.map(idOf)), hasMore: pages.hasNextPage }, idOf)
  const newest = useQuery({
    queryKey: [...queryKey, 'newest'],
    queryFn: ({ signal }) => load(newer ? newer(rowsOf(client.getQueryData<Pages<Row>>(queryKey))) : input, signal),
    enabled: pollMs > 0 && pages.isSuccess,
    // Past a gap, another answer would tell no more than "100+ new", nor anything about the rows that are shown.
    refetchInterval: ({ state }) => (state.data && foundIn(state.data).gap ? false : pollMs),
    staleTime: pollMs,
  })

  const known = newest.data ?? { rows: [], next: undefined }
  const current = new Map(known.rows.map((row) => [idOf(row), row]))
  const found = foundIn(known)

  return {
    rows: shownWith(known)?.map((row) => current.get(idOf(row)) ?? row),
    error: pages.error,
    retry: () => void pages.refetch(),
    hasMore: pages.hasNextPage,
    loadMore: () => void pages.fetchNextPage(),
    isLoadingMore: pages.isFetchingNextPage,
    newRows: pages.isPlaceholderData ? 0 : found.count,
    moreNewRows: found.gap,
    showNew() {
      client.setQueryData<Pages<Row>>(queryKey, (all) => {
        if (!all) return undefined
        const pages = withNewRows(all.pages, found, idOf)
        return { pages, pageParams: all.pageParams.slice(0, pages.length) }
      })
      if (found.gap) void pages.refetch()
    },
  }
}

function rowsOf<Row>(pages: Pick<Pages<Row>, 'pages'> | undefined): Row[] {
  return pages?.pages.flatMap((page) => page.rows) ?? []
}
