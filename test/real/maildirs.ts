import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { eventually } from './daemon.ts'

/** Mailboxes in the format of Maildir. */
export interface Maildirs {
  /** Resolves with the newest message of a mailbox, as stored, once the mailbox holds `count` messages. */
  mail(mailbox: string, count?: number): Promise<Buffer>
  /** The number of messages in a mailbox. */
  count(mailbox: string): Promise<number>
}

export function maildirs(folder: string): Maildirs {
  /** From the oldest to the newest. */
  const messages = async (mailbox: string): Promise<string[]> => {
    const inbox = join(folder, mailbox, 'new')
    const names = await readdir(inbox).catch(() => [])
    const paths = names.map((name) => join(inbox, name))
    const files = await Promise.all(paths.map(async (path) => ({ path, time: (await stat(path)).mtimeMs })))
    return files.sort((a, b) => a.time - b.time).map(({ path }) => path)
  }
  return {
    mail: (mailbox, count = 1) =>
      eventually(async () => {
        const paths = await messages(mailbox)
        return paths.length >= count ? readFile(paths.at(-1)!) : undefined
      }),
    count: async (mailbox) => (await messages(mailbox)).length,
  }
}
