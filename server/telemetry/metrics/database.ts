import type { Definition } from '../instruments.ts'

/** Statements that concurrent requests share. */
const STATEMENTS = [
  'count_requests',
  'find_keys',
  'find_suppressions',
  'claim',
  'marker',
  'record',
  'settle',
  'stored_sends',
  'stored_messages',
  'begin_first_attempts',
  'begin_attempts',
  'read_events',
  'end_attempts',
  'give_up_leases',
]

/** The process's use of the database. */
export const DATABASE = {
  statementSeconds: {
    kind: 'histogram',
    name: 'verdict_database_statement_duration_seconds',
    help: 'Duration of the statements that concurrent requests share, the wait for a connection included.',
    labels: { statement: STATEMENTS },
    bounds: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
  },
  batchRows: {
    kind: 'histogram',
    name: 'verdict_database_batch_rows',
    help: 'How many requests shared a statement.',
    labels: { statement: STATEMENTS },
    bounds: [1, 2, 5, 10, 20, 50],
  },
  databaseConnections: {
    kind: 'gauge',
    name: 'verdict_database_connections',
    help: 'Connections to the database: open, and the limit of the pool.',
    labels: { state: ['open', 'limit'] },
  },
  statementsRunning: {
    kind: 'gauge',
    name: 'verdict_database_statements_in_flight',
    help: 'Statements that run or wait for a connection, without those of transactions and of the query builder.',
  },
  replicas: {
    kind: 'gauge',
    name: 'verdict_database_replicas',
    help: 'Replicas of DATABASE_READ_URL, by state: ok, behind (more than 10 s), other_database (no copy of DATABASE_URL), away. Only those that are ok serve reads.',
    labels: { state: ['ok', 'behind', 'other_database', 'away'] },
    process: 'api',
  },
  replicaLag: {
    kind: 'gauge',
    name: 'verdict_database_replica_lag_seconds',
    help: 'By how much the slowest replica that answers is behind, to a second.',
    process: 'api',
  },
  historyReads: {
    kind: 'counter',
    name: 'verdict_database_history_reads_total',
    help: 'Reads of lists and statistics, by the server that served them. Without DATABASE_READ_URL they are not counted.',
    labels: { server: ['replica', 'primary'] },
    process: 'api',
  },
} as const satisfies Record<string, Definition>

/** What only the database knows of the whole installation. */
export const INSTALLATION = {
  readingAge: {
    kind: 'gauge',
    name: 'verdict_installation_reading_age_seconds',
    help: 'How old the values of the installation are. They grow old while the database does not answer.',
    process: 'api',
  },
  backlog: {
    kind: 'gauge',
    name: 'verdict_webhook_backlog',
    help: 'Events that are not acknowledged yet, by state: first attempt, unassigned (waiting for the worker), scheduled (in a workflow), overdue (in a workflow that is two minutes late).',
    labels: { state: ['first_attempt', 'unassigned', 'scheduled', 'overdue'] },
    process: 'api',
    isOfInstallation: true,
  },
  oldestWaiting: {
    kind: 'gauge',
    name: 'verdict_webhook_oldest_seconds',
    help: 'Age of the oldest event that is not acknowledged yet, 0 without one.',
    process: 'api',
    isOfInstallation: true,
  },
  oldestUnassigned: {
    kind: 'gauge',
    name: 'verdict_webhook_oldest_unassigned_seconds',
    help: 'How long the oldest event without a first attempt or a workflow has been due, 0 without one.',
    process: 'api',
    isOfInstallation: true,
  },
  openSends: {
    kind: 'gauge',
    name: 'verdict_open_sends',
    help: 'Sends without a stored outcome, by state: running, or expired (left by a crash, and not swept yet).',
    labels: { state: ['running', 'expired'] },
    process: 'api',
    isOfInstallation: true,
  },
  historyAhead: {
    kind: 'gauge',
    name: 'verdict_history_ahead_seconds',
    help: 'For how long the partitions of history last. At 0 no send can be stored.',
    process: 'api',
    isOfInstallation: true,
  },
  historyAge: {
    kind: 'gauge',
    name: 'verdict_history_age_seconds',
    help: 'How long ago the oldest day of history ended. It is dropped after 90 days.',
    process: 'api',
    isOfInstallation: true,
  },
  domains: {
    kind: 'gauge',
    name: 'verdict_domains',
    help: 'Sending domains, by status.',
    labels: { status: ['pending', 'verified', 'failed', 'lapsed'] },
    process: 'api',
    isOfInstallation: true,
  },
  breakers: {
    kind: 'gauge',
    name: 'verdict_breakers',
    help: 'Circuit breakers of domains that limit sending, by state.',
    labels: { state: ['open', 'half_open'] },
    process: 'api',
    isOfInstallation: true,
  },
  slowedSites: {
    kind: 'gauge',
    name: 'verdict_slowed_site_seconds',
    help: 'How long the site is slowed that has been slowed for the longest time, among those in use.',
    process: 'api',
    isOfInstallation: true,
  },
  suppressions: {
    kind: 'gauge',
    name: 'verdict_suppressions',
    help: 'Entries of all suppression lists, as PostgreSQL estimates them.',
    process: 'api',
    isOfInstallation: true,
  },
  oldestTransaction: {
    kind: 'gauge',
    name: 'verdict_database_oldest_transaction_seconds',
    help: 'Age of the oldest open transaction that has written, in any database of the cluster, 0 without one, by whose it is: verdict, another program, or prepared (without a session). Streams of events wait for its end.',
    labels: { owner: ['verdict', 'other', 'prepared'] },
    process: 'api',
    isOfInstallation: true,
  },
  databaseBytes: {
    kind: 'gauge',
    name: 'verdict_database_size_bytes',
    help: 'Size of the database on disk.',
    process: 'api',
    isOfInstallation: true,
  },
} as const satisfies Record<string, Definition>
