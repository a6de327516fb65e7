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
    covers: ['server/http/rest/', 'server/http/body/', 'server/async/time-text.ts', 'proto/verdict/v1/'],
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
  sends: {
    covers: ['server/sending/', 'server/ledger/', 'server/db/', 'server/reputation/', 'server/services/', 'mail/smtp/'],
    load: async () => (await import('./sends.ts')).sends,
  },
  http: {
    covers: ['server/http/'],
    load: async () => (await import('./http.ts')).http,
  },
  reports: {
    covers: ['server/inbound/', 'mail/smtp/', 'bench/verdicts/'],
    load: async () => (await import('./reports.ts')).reports,
  },
}
