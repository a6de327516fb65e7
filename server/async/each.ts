/**
 * Does `work` for one item after another. What fails keeps no other item waiting: the first error is thrown at the end.
 * Stops when `work` resolves to false.
 */
export async function workOnEach<Item>(items: Iterable<Item>, work: (item: Item) => Promise<unknown>): Promise<void> {
  const errors: unknown[] = []
  for (const item of items) {
    try {
      if ((await work(item)) === false) break
    } catch (error) {
      errors.push(error)
    }
  }
  if (errors.length > 0) throw errors[0]
}
