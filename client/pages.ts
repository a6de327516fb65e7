/** Yields the items of every page, each read when it is needed. */
export async function* itemsOf<P extends { next_cursor?: string }, Item>(
  page: (cursor: string | undefined) => Promise<P>,
  items: (page: P) => Item[],
): AsyncGenerator<Item, void, undefined> {
  let cursor: string | undefined
  do {
    const next = await page(cursor)
    yield* items(next)
    cursor = next.next_cursor
  } while (cursor !== undefined)
}
