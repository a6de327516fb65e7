import type { Target } from './target.ts'

interface Entry {
  /** The folders and files that the law is about. A change of one of them gives the target more time in CI. */
  covers: string[]
  load(): Promise<Target>
}

/** Every target, by the name of its file. */
export const TARGETS: Record<string, Entry> = {
  mime: {
    covers: ['mail/mime/', 'mail/address.ts', 'mail/local-part.ts', 'server/sending/attachments.ts'],
    load: async () => (await import('./mime.ts')).mime,
  },
  addresses: {
    covers: ['mail/address.ts', 'mail/local-part.ts', 'mail/mime/encoded-words.ts'],
    load: async () => (await import('./addresses.ts')).addresses,
  },
  json: {
    covers: ['server/http/rest/', 'server/http/body/', 'server/time-text.ts', 'proto/verdict/v1/'],
    load: async () => (await import('./json.ts')).json,
  },
  replies: {
    covers: ['mail/smtp/', 'bench/verdicts/'],
    load: async () => (await import('./replies.ts')).replies,
  },
  csv: {
    covers: ['address-files/'],
    load: async () => (await import('./csv.ts')).csv,
  },
}
