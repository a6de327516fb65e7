/** A room whose tests are measured: how many of the changes of its code they notice. */
export interface Room {
  /** Its code, as globs. */
  code: string[]
  /** The files whose strings and patterns are lists of words and phrases. */
  wordLists?: string[]
  /** The tests that must notice a change, as globs: those of the room, and those of rooms that call it. */
  tests: string[]
  /** The share of mutants that the tests must kill, in percent. */
  floor: { code: number; phrases?: number }
}

/** Every test of a folder but those that start processes: a mutant is in the modules of one process. */
const all = (folder: string) => `test/${folder}/**/*.test.ts`

/** What reads a reply: no test of it waits for a server, so that many more mutants run in the same time. */
const READING = ['classify', 'clauses', 'plain-text', 'reply', 'rules', 'traced-text']

export const ROOMS: Record<string, Room> = {
  'mail/smtp': {
    code: [`mail/smtp/!(${READING.join('|')}).ts`],
    tests: [all('mail/smtp')],
    floor: { code: 85 },
  },
  'mail/smtp/rules': {
    code: ['mail/smtp/rules/*.ts', ...READING.map((name) => `mail/smtp/${name}.ts`)],
    wordLists: ['mail/smtp/rules/*.ts'],
    tests: ['classify', 'clauses', 'laws', 'phrases', 'reply', 'rows'].map((name) => `test/mail/smtp/${name}*.test.ts`),
    floor: { code: 85, phrases: 95 },
  },
  inbound: {
    code: ['server/inbound/**/*.ts'],
    wordLists: ['server/inbound/marks.ts'],
    tests: [all('inbound'), 'test/cli/recheck.thorough.test.ts'],
    floor: { code: 85, phrases: 85 },
  },
  ledger: {
    code: ['server/ledger/**/*.ts'],
    tests: [all('ledger'), all('sending'), all('services')],
    floor: { code: 90 },
  },
  sending: {
    code: ['server/sending/**/*.ts'],
    tests: [all('sending'), all('ledger'), all('services'), all('smtp-front')],
    floor: { code: 90 },
  },
  webhooks: {
    code: ['server/webhooks/**/*.ts'],
    tests: [all('webhooks'), all('services'), all('admin')],
    floor: { code: 80 },
  },
  access: {
    code: ['server/access/**/*.ts'],
    tests: [all('access'), all('admin'), all('http')],
    floor: { code: 80 },
  },
}
