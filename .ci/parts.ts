import { fileURLToPath } from 'node:url'
import { ROOMS } from '../dev/mutation/rooms.ts'
import { TARGETS } from '../fuzz/targets.ts'

// What `.ci/run` and `.ci/full` run. `npm run ci:times` prints this table into CONTRIBUTING.md.

/** The results of the parts that ran in this checkout. */
export const RESULTS = fileURLToPath(new URL('results', import.meta.url))

/** A part of the checks. It takes at most 20 minutes on two processors. */
export interface Part {
  name: string
  command: string
  /** Where Vitest finds the tests of the command. Absent for a program whose exit code is the result. */
  tests?: { config: string; projects: string[] }
  /** `.ci/run` runs the part for every change, `.ci/full` before a release. */
  each: 'change' | 'release'
  checks: string
  /** The folders whose changes must run this part, although it does not run for every change. */
  rooms: string[]
}

/** For all targets of `fuzz/` together. */
const FUZZ_SECONDS = 15 * 60

export const PARTS: readonly Part[] = [
  {
    name: 'check',
    ...vitest('npm run check --', 'vitest.config.ts', 'unit'),
    each: 'change',
    checks: 'the source, generated code, fast tests',
    rooms: [],
  },
  {
    name: 'promises',
    command: 'npm run promises',
    each: 'change',
    checks: 'no promise is lost',
    rooms: [],
  },
  {
    name: 'test',
    ...vitest('npm test --', 'vitest.config.ts', 'waiting and thorough'),
    each: 'change',
    checks: 'time limits, many inputs',
    rooms: [],
  },
  {
    name: 'processes',
    ...vitest('npm run test:processes --', 'vitest.processes.config.ts', 'processes'),
    each: 'change',
    checks: 'whole processes, Temporal, the README, short faults',
    rooms: [],
  },
  {
    name: 'real',
    ...vitest('npm run test:real --', 'vitest.real.config.ts', 'real', 'database'),
    each: 'change',
    checks: "Debian's servers, the SQL of sends on its PostgreSQL, one walk in a browser",
    rooms: [],
  },
  {
    name: 'fuzz',
    command: 'npm run fuzz -- --seconds 5 --since landed',
    each: 'change',
    checks: 'the laws of `fuzz/`, longer for what this work changes',
    rooms: [],
  },
  {
    name: 'kills',
    command: 'npm run kills -- 10',
    each: 'change',
    checks: 'random kills of every process under load',
    rooms: [],
  },
  {
    name: 'kills-long',
    command: 'npm run kills -- 200',
    each: 'release',
    checks: 'the same, 200 times',
    rooms: [
      ...['server/sending/', 'server/ledger/', 'server/db/', 'server/webhooks/', 'server/stream/', 'server/process/'],
      ...['workflows/', 'mail/smtp/', 'kills/'],
    ],
  },
  {
    name: 'fuzz-long',
    command: `npm run fuzz -- --seconds ${Math.floor(FUZZ_SECONDS / Object.keys(TARGETS).length)}`,
    each: 'release',
    checks: 'the same, for as long as a release deserves',
    rooms: [
      ...['fuzz/', 'mail/', 'address-files/', 'server/sending/', 'server/ledger/', 'server/http/', 'server/inbound/'],
      'bench/verdicts/',
    ],
  },
  {
    name: 'release',
    ...vitest('npm run test:release --', 'vitest.release.config.ts', 'release'),
    each: 'release',
    checks: '`npm start` and its embedded parts, the snippets of the guides, long runs of processes, our own tools',
    rooms: [
      ...['.ci/', 'dev/', 'fuzz/', 'server/process/', 'server/notices/', 'cli/', 'docs/', 'workflows/'],
      ...['address-files/', 'server/receipts/'],
    ],
  },
  {
    name: 'dashboard',
    ...vitest('npm run test:real --', 'vitest.real.config.ts', 'dashboard'),
    each: 'release',
    checks: 'every page in a browser',
    rooms: ['dashboard/', 'server/admin/', 'server/notices/', 'address-files/', 'proto/'],
  },
  {
    name: 'deployment',
    ...vitest('npm run test:real --', 'vitest.real.config.ts', 'deployment', 'upgrade'),
    each: 'release',
    checks: 'images, proxies, back-up, alerts, guides of other systems, the rolling upgrade from the last release',
    rooms: ['deploy/', 'docs/', 'server/db/', 'server/process/', 'server/telemetry/', 'Dockerfile', 'compose.yaml'],
  },
  {
    name: 'archive',
    ...vitest('npm run test:real --', 'vitest.real.config.ts', 'archive'),
    each: 'release',
    checks: 'the archive of history in a bucket of a real S3 server',
    rooms: ['server/archive/', 'server/erasure/', 'server/db/'],
  },
  {
    name: 'clients',
    ...vitest('npm run test:real --', 'vitest.real.config.ts', 'clients'),
    each: 'release',
    checks: 'generated clients, programs of guides, a fuzzer of the OpenAPI document, gRPC',
    rooms: ['proto/', 'server/http/', 'server/services/', 'dev/openapi/', 'client/', 'docs/languages/'],
  },
  {
    name: 'movers',
    ...vitest('npm run test:real --', 'vitest.real.config.ts', 'movers'),
    each: 'release',
    checks: 'the import of a file of 1,000,000 rows, in time and in bounded memory',
    rooms: ['address-files/', 'cli/', 'server/services/', 'server/reputation/'],
  },
  {
    name: 'smtp-clients',
    ...vitest('npm run test:real --', 'vitest.real.config.ts', 'smtp-clients'),
    each: 'release',
    checks: 'what programs and mail servers say that hand in mail over SMTP and LMTP',
    rooms: ['server/smtp-front/', 'net/'],
  },
  {
    name: 'machines',
    ...vitest('npm run test:real --', 'vitest.real.config.ts', 'machines'),
    each: 'release',
    checks: 'the files of `deploy/` for PostgreSQL under Patroni and a cluster of Temporal',
    rooms: ['deploy/', 'server/db/', 'dev/temporal/'],
  },
  {
    name: 'faults',
    ...vitest('npm run faults --', 'vitest.faults.config.ts', 'faults'),
    each: 'release',
    checks: 'faults injected into running processes',
    rooms: [
      ...['server/sending/', 'server/ledger/', 'server/reputation/', 'server/db/', 'server/stream/'],
      ...['workflows/', 'mail/', 'server/process/'],
    ],
  },
  {
    name: 'faults-webhooks',
    ...vitest('npm run faults --', 'vitest.faults.config.ts', 'webhooks'),
    each: 'release',
    checks: 'faults injected while events are dispatched and replayed',
    rooms: ['server/webhooks/', 'server/db/', 'workflows/'],
  },
  {
    name: 'attacks',
    ...vitest('npm run faults --', 'vitest.faults.config.ts', 'others'),
    each: 'release',
    checks: 'one caller who tries to stop the others',
    rooms: [
      ...[
        'server/http/',
        'server/access/',
        'server/smtp-front/',
        'server/inbound/',
        'net/',
        'mail/',
        'server/shaping/',
      ],
      'server/webhooks/',
    ],
  },
  ...['postgres', 'temporal'].map(
    (project): Part => ({
      name: `cluster-${project}`,
      ...vitest('npm run cluster --', 'vitest.cluster.config.ts', project),
      each: 'release',
      checks: 'three machines that are killed, frozen and cut off, as root',
      rooms: project === 'postgres' ? ['server/db/', 'deploy/'] : ['workflows/', 'deploy/'],
    }),
  ),
  ...Object.entries(ROOMS).map(
    ([room, { code }]): Part => ({
      name: `mutation-${room.replaceAll('/', '-')}`,
      command: `npm run mutation -- ${room} --minutes 3`,
      each: 'release',
      checks: 'the share of changed code that the tests notice',
      rooms: [...new Set(code.map((glob) => glob.replace(/[^/]*[*(].*/, '')))],
    }),
  ),
]

function vitest(run: string, config: string, ...projects: string[]): Pick<Part, 'command' | 'tests'> {
  return { command: `${run}${projects.map((name) => ` --project '${name}'`).join('')}`, tests: { config, projects } }
}
