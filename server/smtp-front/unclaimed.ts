/**
 * The mails of this process whose client has left and that are not claimed yet, by what they say. The client sends
 * again at once: before its first mail is claimed, nothing in the database leads the repeat to it.
 */
export function createUnclaimed() {
  const mails = new Map<string, Promise<unknown>>()

  return {
    /** Resolves when no mail with one of these keys waits for its claim. */
    async untilClaimed(keys: readonly string[]): Promise<void> {
      const others = () => keys.flatMap((key) => mails.get(key) ?? [])
      for (let found = others(); found.length > 0; found = others()) await Promise.all(found)
    },

    /** Adds a mail. The function that it returns says that the mail is claimed, or has ended. */
    add(keys: readonly string[]): () => void {
      const { promise, resolve } = Promise.withResolvers<void>()
      for (const key of keys) {
        const all = Promise.all([mails.get(key), promise])
        mails.set(key, all)
        void all.then(() => mails.get(key) === all && mails.delete(key))
      }
      return resolve
    },
  }
}
