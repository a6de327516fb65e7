import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'

// Which room may import which. A room is a folder of `server/`, or a folder of the root; the loose files of
// `server/` are rooms, too. `tracing` is the interface of traces, without OpenTelemetry.

/** What every room of the server may import. */
const SHARED = ['gen', 'net', 'server/async', 'server/db', 'server/errors.ts', 'server/config', 'tracing']
/** What rooms that change an account may import, too. */
const AUDITED = [...SHARED, 'server/access', 'server/caller.ts']

const MAY_IMPORT: Record<string, string[]> = {
  gen: [],
  client: [],
  net: [],
  mail: ['net'],
  'address-files': [],
  dashboard: ['gen', 'address-files'],
  tracing: [],
  'server/async': ['net'],
  'server/errors.ts': ['gen'],
  'server/caller.ts': ['server/db', 'tracing'],
  'server/config': [],
  'server/db': ['gen', 'net', 'server/async', 'server/config', 'server/errors.ts', 'package.json'],
  'server/directory': ['server/db'],
  'server/access': [...SHARED, 'mail', 'server/caller.ts', 'server/directory'],
  'server/reputation': [...SHARED, 'mail'],
  'server/receipts': [...SHARED, 'mail'],
  'server/domains': [...AUDITED, 'mail', 'server/directory'],
  'server/erasure': [...AUDITED, 'mail', 'server/reputation'],
  'server/archive': [...SHARED, 'server/erasure', 'package.json'],
  'server/ledger': [...SHARED, 'server/reputation'],
  // A late bounce or a complaint counts and suppresses by the same SQL as the end of a send.
  'server/inbound': [...SHARED, 'mail', 'server/domains', 'server/ledger', 'server/reputation'],
  'server/sending': [...SHARED, 'mail', 'server/domains', 'server/ledger', 'server/reputation'],
  'server/smtp-front': [...AUDITED, 'mail', 'server/domains', 'server/ledger', 'server/sending'],
  'server/webhooks': [...AUDITED, 'server/ledger', 'package.json'],
  'server/notices': [
    ...AUDITED,
    'server/directory',
    'server/domains',
    'server/reputation',
    'server/sending',
    'server/webhooks',
  ],
  'server/shaping': [...SHARED, 'mail'],
  'server/simulator': ['mail'],
  'server/stream': [...SHARED, 'server/caller.ts'],
  'server/services': [
    ...AUDITED,
    'mail',
    'server/domains',
    'server/receipts',
    'server/reputation',
    'server/sending',
    'server/stream',
    'server/webhooks',
  ],
  'server/admin': [
    ...AUDITED,
    'mail',
    'server/directory',
    'server/notices',
    'server/reputation',
    'server/services',
    'server/simulator',
    'server/webhooks',
  ],
  'server/http': ['gen', 'net', 'server/async', 'server/caller.ts', 'server/config', 'server/errors.ts', 'tracing'],
  // What counts and shows. Rooms report to it through callbacks, so that none of them depends on it.
  'server/telemetry': [...SHARED, 'mail', 'server/http', 'server/reputation', 'server/sending', 'server/webhooks'],
  // Code inside Temporal's sandbox, and what the activities get: see also workflows/border.process.test.ts.
  workflows: [...SHARED, 'log', 'server/webhooks'],
  log: ['mail'],
}

/** The files that wire a program import every room. */
const ROOTS = [
  'server/main.ts',
  'server/api.ts',
  'server/process/',
  'workflows/worker.ts',
  'cli/',
  'dev/',
  'fuzz/',
  'kills/',
]
const TRACING = /^server\/telemetry\/trac(?:ing|eparent)\.ts$/

function roomOf(file: string): string {
  if (TRACING.test(file)) return 'tracing'
  if (file === 'server/process/log.ts') return 'log'
  if (ROOTS.some((root) => file.startsWith(root))) return 'a root'
  return /^(?:server\/)?[^/]+/.exec(file)![0]
}

/** The imports of each file from this repository, types included. */
const IMPORTS = new Map(
  globSync([
    'client/{*,gen/*}.ts',
    '{address-files,gen,net,mail,server,cli,workflows,dev,fuzz,kills}/**/*.ts',
    'dashboard/**/*.{ts,tsx}',
  ]).map((file) => {
    const imports = readFileSync(file, 'utf8').matchAll(/from '(\.[^']*)'|import\('(\.[^']*)'\)/g)
    return [file, [...imports].map(([, from, dynamic]) => normalize(join(dirname(file), (from ?? dynamic)!)))]
  }),
)

test('every import follows the table', () => {
  const strangers: string[] = []
  for (const [file, imports] of IMPORTS) {
    const room = roomOf(file)
    if (room === 'a root') continue
    const allowed = MAY_IMPORT[room]
    if (!allowed) strangers.push(`${file} is in no room of the table`)
    else
      strangers.push(
        ...imports
          .filter((target) => ![room, ...allowed].includes(roomOf(target)))
          .map((target) => `${file} -> ${target}`),
      )
  }
  expect(strangers).toEqual([])
})

test('every room of the table has files', () => {
  const rooms = new Set([...IMPORTS.keys(), 'package.json'].map(roomOf))
  const named = Object.entries(MAY_IMPORT).flatMap(([room, allowed]) => [room, ...allowed])
  expect(named.filter((room) => !rooms.has(room))).toEqual([])
})

test('no room imports itself through others', () => {
  const made = new Map<string, Set<string>>()
  for (const [file, imports] of IMPORTS) {
    const room = roomOf(file)
    for (const target of imports.map(roomOf)) {
      if (target !== room) made.set(room, (made.get(room) ?? new Set()).add(target))
    }
  }
  expect(
    circlesOf(new Map([...made].filter(([room]) => room !== 'a root').map(([room, to]) => [room, [...to]]))),
  ).toEqual([])
})

test('no file imports itself through others, not even for a type', () => {
  expect(circlesOf(IMPORTS)).toEqual([])
})

/** The nodes of a graph that are in a circle or lead to one. */
function circlesOf(graph: Map<string, string[]>): string[] {
  const open = new Map(graph)
  for (let leaves = ['']; leaves.length > 0; ) {
    leaves = [...open].filter(([, targets]) => !targets.some((target) => open.has(target))).map(([node]) => node)
    for (const leaf of leaves) open.delete(leaf)
  }
  return [...open.keys()]
}

test('server/ has no loose files but the two that wire the API and the two that every room speaks of', () => {
  expect(globSync('server/*.*').toSorted()).toEqual(
    ['api', 'caller', 'errors', 'main'].map((name) => `server/${name}.ts`),
  )
})

test('the transport knows no mail: server/http has none of its words', () => {
  const words = /[^\n]*(?:mail|smtp|recipient|bounce|suppress|inbox|webhook)[^\n]*/gi
  const found = globSync('server/http/**/*.ts').flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(words)].map(([line]) => `${file}: ${line.trim()}`),
  )
  expect(found).toEqual([])
})

test('Drizzle is loaded in one place, as CommonJS: its ES modules cost each process a second and 210 MB', () => {
  const loaders = globSync('{net,mail,server,cli,workflows,dev,test,bench,fuzz}/**/*.ts').filter((file) =>
    /^import \{[^}]*\} from 'drizzle-orm/m.test(readFileSync(file, 'utf8')),
  )
  expect(loaders).toEqual([])
})
