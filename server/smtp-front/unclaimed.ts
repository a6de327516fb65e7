/**
 * The mails of this process that are not claimed yet, by what they say. A client that has left sends again at once:
 * before its first mail is claimed, nothing in the database leads the repeat to it.
 */
export function createUnclaimed() {
  const mails = new Map<string, Promise<void>>()

  /**
   * Resolves when no other mail with one of these keys is unclaimed. The function that it returns says that this one is
   * claimed, or has ended; calling it again does nothing.
   */
  return async (keys: readonly string[]): Promise<() => void> => {
    for (let others = known(keys); others.length > 0; others = known(keys)) await Promise.all(others)
    const { promise, resolve } = Promise.withResolvers<void>()
    for (const key of keys) mails.set(key, promise)
    return () => {
      for (const key of keys) if (mails.get(key) === promise) mails.delete(key)
      resolve()
    }
  }

  function known(keys: readonly string[]): Promise<void>[] {
    return keys.flatMap((key) => mails.get(key) ?? [])
  }
}
