import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from '@bufbuild/protobuf'
import { callUnaryMethod, createConnectQueryKey, useTransport } from '@connectrpc/connect-query'
import { type InfiniteData, keepPreviousData, useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query'

interface Page<Row> {
  rows: Row[]
  /** Cursor of the next page; undefined on the last one. */
  next: string | undefined
}

interface CursorListParts<I extends DescMessage, O extends DescMessage, Row> {
  /** A method whose request has the field `cursor`, and which lists the newest rows first. */
  method: DescMethodUnary<I, O>
  /** The filters. */
  input: MessageInitShape<I>
  read(response: MessageShape<O>): Page<Row>
  idOf(row: Row): string
  /** How often the first page is asked for again. By default 5,000; 0 for never. */
  pollMs?: number
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
  const { method, input, read, idOf, pollMs = 5_000 } = parts
  const transport = useTransport()
  const client = useQueryClient()
  const queryKey = createConnectQueryKey({ schema: method, input, transport, cardinality: 'infinite' })
  const load = async (cursor: string | undefined, signal: AbortSignal) =>
    read(await callUnaryMethod(transport, method, { ...input, cursor } as MessageInitShape<I>, { signal }))

  const pages = useInfiniteQuery({
    queryKey: queryKey as readonly unknown[],
    queryFn: ({ pageParam, signal }) => load(pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page: Page<Row>) => page.next,
    placeholderData: keepPreviousData,
    // While the list is open, its pages change only by `newest`.
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnMount: 'always',
  })
  const newest = useQuery({
    queryKey: [...queryKey, 'newest'],
    queryFn: ({ signal }) => load(undefined, signal),
    enabled: pollMs > 0 && pages.isSuccess,
    refetchInterval: pollMs,
    staleTime: pollMs,
  })

  const asked = pages.data?.pages.flatMap((page) => page.rows)
  // The first rows of an empty list have nothing to push away.
  const loaded = asked?.length === 0 ? (newest.data?.rows ?? asked) : asked
  const current = new Map(newest.data?.rows.map((row) => [idOf(row), row]))
  const shown = new Set(loaded?.map(idOf))
  const newRows = pages.isPlaceholderData ? 0 : [...current.keys()].filter((id) => !shown.has(id)).length

  return {
    rows: loaded?.map((row) => current.get(idOf(row)) ?? row),
    error: pages.error,
    retry: () => void pages.refetch(),
    hasMore: pages.hasNextPage,
    loadMore: () => void pages.fetchNextPage(),
    isLoadingMore: pages.isFetchingNextPage,
    newRows,
    moreNewRows: newRows > 0 && newRows === current.size && newest.data?.next !== undefined,
    showNew() {
      const data: InfiniteData<Page<Row>, string | undefined> = { pages: [newest.data!], pageParams: [undefined] }
      client.setQueryData(queryKey as readonly unknown[], data)
    },
  }
}
