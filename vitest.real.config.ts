import { defineConfig } from 'vitest/config'
import './test/harness/compile-cache.ts'
import { LongestFirst } from './test/harness/longest-first.ts'

const shared = {
  testTimeout: 120_000,
  hookTimeout: 120_000,
  expect: { poll: { timeout: 20_000 } },
  sequence: { groupOrder: 0 },
  // Each file has its own servers, and waits for them more than half of its time.
  maxWorkers: 3,
}

const alone = { ...shared, testTimeout: 300_000, hookTimeout: 300_000, maxWorkers: 1 }

/** In these no request may fail, or bars are times of the machine: nothing else runs beside them. */
const UPGRADE = ['test/real/rolling-upgrade.test.ts']
const MACHINES = ['test/real/patroni.test.ts', 'test/real/temporal-cluster.test.ts']

/** How the product is installed, put behind proxies, backed up and upgraded. */
const DEPLOYMENT = [
  'test/real/{image,compose,systemd,kubernetes,autoscaling,envoy,nginx,proxies,backup,alerts,guides}.test.ts',
  'test/real/outgrown-release.test.ts',
]

/** Other people's programs against the contract. They take minutes to generate, to compile and to run. */
const CLIENTS = [
  'test/real/generated-clients.test.ts',
  'test/real/languages.test.ts',
  'test/real/openapi.test.ts',
  'test/real/conformance.test.ts',
  'test/real/rpc-clients.test.ts',
  'test/real/python-client.test.ts',
]

/** They build and run programs in eight languages. */
const SMTP_CLIENTS = ['test/real/smtp-clients.test.ts']

/** The walk in a browser that runs for every change. */
const STORY = 'test/real/dashboard/story.test.ts'
const DASHBOARD = 'test/real/dashboard/**/*.test.ts'

/** What touches the statements of sends, reports and events: their SQL runs on Debian's PostgreSQL, too. */
const STATEMENTS = [
  'test/{db,ledger,reputation,sending}/**/*.test.ts',
  'test/inbound/{feedback.waiting,retried-messages.thorough}.test.ts',
  'test/stream/stream-leases.thorough.test.ts',
  'test/webhooks/{attempt/attempts.thorough,queue/hand-over.waiting}.test.ts',
]

/** Run by test/real/run.ts, which brings what the tests need. */
export default defineConfig({
  test: {
    globalSetup: ['test/harness/global-postgres.ts', 'test/harness/global-temporal.ts'],
    teardownTimeout: 20_000,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          ...shared,
          name: 'real',
          include: ['test/real/*.test.ts', STORY],
          exclude: [...DEPLOYMENT, ...UPGRADE, ...MACHINES, ...CLIENTS, ...SMTP_CLIENTS],
        },
      },
      { test: { ...shared, name: 'database', include: STATEMENTS } },
      { test: { ...shared, name: 'deployment', include: DEPLOYMENT } },
      { test: { ...shared, name: 'clients', include: CLIENTS } },
      { test: { ...shared, name: 'smtp-clients', include: SMTP_CLIENTS } },
      { test: { ...shared, name: 'archive', include: ['test/real/archive/*.test.ts'] } },
      { test: { ...alone, name: 'movers', include: ['test/real/movers/*.test.ts'], sequence: { groupOrder: 3 } } },
      { test: { ...shared, name: 'dashboard', include: [DASHBOARD], exclude: [STORY] } },
      { test: { ...alone, name: 'upgrade', include: UPGRADE, sequence: { groupOrder: 1 } } },
      { test: { ...alone, name: 'machines', include: MACHINES, sequence: { groupOrder: 2 } } },
    ],
  },
})
