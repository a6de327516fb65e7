/** A scraped series in the notation of `promtool test rules`: `value+step x count`, one value a minute. */
export type SeriesTable = Record<string, string>

const HOUR = 'x180'
const always = (value: number) => `${value}+0${HOUR}`
const growing = (perMinute: number) => `0+${perMinute}${HOUR}`

const API = 'job="verdict-api",instance="a"'
const WORKER = 'job="verdict-worker",instance="w"'
const sends = (reason: string, status: string) =>
  `verdict_recipients_total{${API},mode="live",status="${status}",reason="${reason}"}`
const DAY = 86_400

/** An installation that works, for three hours. */
export const HEALTHY: SeriesTable = {
  [`up{${API}}`]: always(1),
  [`up{${WORKER}}`]: always(1),
  [`scrape_duration_seconds{${API}}`]: always(0.02),
  [`verdict_ready{${API}}`]: always(1),
  [`verdict_calls_total{${API},rpc="EmailService/Send",protocol="rest",code="ok"}`]: growing(600),
  [`verdict_calls_total{${API},rpc="EmailService/Send",protocol="rest",code="transient_failure"}`]: growing(3),
  [`verdict_installation_reading_age_seconds{${API}}`]: always(9),
  [`verdict_provider_recipients_total{${API},provider="google.com",result="sender_refused"}`]: growing(1),
  [`verdict_provider_recipients_total{${API},provider="google.com",result="other"}`]: growing(500),
  [`verdict_slowed_site_seconds{${API}}`]: always(0),
  [`verdict_history_ahead_seconds{${API}}`]: always(7 * DAY),
  [`verdict_history_age_seconds{${API}}`]: always(90 * DAY),
  [`verdict_temporal_up{${API}}`]: always(1),
  [`verdict_temporal_up{${WORKER}}`]: always(1),
  [`verdict_webhook_oldest_unassigned_seconds{${API}}`]: always(1),
  [`verdict_webhook_backlog{${API},state="overdue"}`]: always(0),
  [sends('none', 'delivered')]: growing(600),
  [sends('connection_timeout', 'bounced')]: growing(10),
  [sends('policy_block', 'bounced')]: growing(5),
  [`verdict_in_doubt_recipients_total{${API},mode="live"}`]: growing(1),
  [`verdict_certificate_expiry_timestamp_seconds{${API}}`]: always(60 * DAY),
  [`verdict_task_runs_total{${API},task="sweep",result="ok"}`]: growing(12),
  [`verdict_task_runs_total{${API},task="sweep",result="failed"}`]: growing(1),
  [`verdict_swept_sends_total{${API},end="released"}`]: always(0),
  [`verdict_open_sends{${API},state="expired"}`]: always(0),
  [`verdict_breakers{${API},state="open"}`]: always(0),
  [`verdict_provider_bad_hours_total{${API},provider="google"}`]: always(1),
  [`verdict_quota_accounts{${API},state="near"}`]: always(2),
  [`verdict_quota_accounts{${API},state="used_up"}`]: always(0),
  [`verdict_dns_answers_total{${API},type="MX",source="server",result="records"}`]: growing(100),
  [`verdict_dns_answers_total{${API},type="MX",source="server",result="failure"}`]: growing(5),
  [`verdict_inbound_failures_total{${API}}`]: always(0),
  [`verdict_database_statement_duration_seconds_bucket{${API},statement="claim",le="0.05"}`]: growing(600),
  [`verdict_database_statement_duration_seconds_bucket{${API},statement="claim",le="1"}`]: growing(600),
  [`verdict_database_statement_duration_seconds_bucket{${API},statement="claim",le="+Inf"}`]: growing(600),
  [`verdict_database_statements_in_flight{${API}}`]: always(3),
  [`verdict_database_connections{${API},state="limit"}`]: always(10),
  [`verdict_database_oldest_transaction_seconds{${API},owner="other"}`]: always(2),
  [`verdict_event_loop_delay_seconds{${API},thread="main",statistic="p99"}`]: always(0.02),
  [`verdict_body_budget_bytes{${API},state="used"}`]: always(1e6),
  [`verdict_body_budget_bytes{${API},state="limit"}`]: always(268e6),
  [`verdict_process_open_fds{${API}}`]: always(200),
  [`verdict_process_max_fds{${API}}`]: always(20_000),
  [`verdict_cluster_sessions{${API},state="open"}`]: always(30),
  [`verdict_cluster_sessions{${API},state="limit"}`]: always(97),
  [`verdict_cluster_replication_slots{${API},state="lost"}`]: always(0),
  [`verdict_cluster_freeze_age_transactions{${API}}`]: always(150e6),
  [`verdict_backup_age_seconds{${API}}`]: always(DAY),
}

export interface AlertCase {
  /** What differs from the healthy installation. */
  series: SeriesTable
  /** Labels of the alert, beside its severity. */
  labels?: Record<string, string>
}

/** What makes each alert fire within two and a half hours. */
export const CASES: Record<string, AlertCase> = {
  VerdictNoApi: { series: { [`up{${API}}`]: always(0) } },
  VerdictApiHangs: {
    series: { [`up{${API}}`]: always(0), [`scrape_duration_seconds{${API}}`]: always(10) },
    labels: { job: 'verdict-api', instance: 'a' },
  },
  VerdictNotReady: { series: { [`verdict_ready{${API}}`]: always(0) } },
  VerdictNoWorker: { series: { [`up{${WORKER}}`]: always(0) } },
  VerdictCallsFail: {
    series: {
      [`verdict_calls_total{${API},rpc="EmailService/Send",protocol="rest",code="transient_failure"}`]: growing(60),
    },
  },
  VerdictDatabaseSilent: { series: { [`verdict_installation_reading_age_seconds{${API}}`]: growing(60) } },
  VerdictNotRecorded: { series: { [`verdict_record_waiting_seconds{${API}}`]: growing(60) } },
  VerdictHistoryEnds: { series: { [`verdict_history_ahead_seconds{${API}}`]: always(3_600) } },
  VerdictTemporalDown: {
    series: { [`verdict_temporal_up{${API}}`]: always(0), [`verdict_temporal_up{${WORKER}}`]: always(0) },
  },
  VerdictWebhooksStuck: { series: { [`verdict_webhook_oldest_unassigned_seconds{${API}}`]: growing(60) } },
  VerdictWebhooksOverdue: { series: { [`verdict_webhook_backlog{${API},state="overdue"}`]: always(4) } },
  VerdictCannotConnect: { series: { [sends('connection_timeout', 'bounced')]: growing(900) } },
  VerdictCertificateEnds: { series: { [`verdict_certificate_expiry_timestamp_seconds{${API}}`]: always(DAY) } },
  VerdictProcessDown: { series: { [`up{${API}}`]: always(0) }, labels: { job: 'verdict-api', instance: 'a' } },
  VerdictCertificateOld: { series: { [`verdict_certificate_expiry_timestamp_seconds{${API}}`]: always(9 * DAY) } },
  VerdictHistoryShort: { series: { [`verdict_history_ahead_seconds{${API}}`]: always(4 * DAY) } },
  VerdictArchiveStuck: { series: { [`verdict_archive_unwritten_days{${WORKER}}`]: always(2) } },
  VerdictRetentionStuck: { series: { [`verdict_history_age_seconds{${API}}`]: always(95 * DAY) } },
  VerdictTaskFails: {
    series: { [`verdict_task_runs_total{${API},task="sweep",result="ok"}`]: always(5) },
    labels: { task: 'sweep' },
  },
  VerdictSendsSwept: { series: { [`verdict_swept_sends_total{${API},end="released"}`]: growing(1) } },
  VerdictSendsNotSwept: { series: { [`verdict_open_sends{${API},state="expired"}`]: always(2) } },
  VerdictIndexInvalid: { series: { [`verdict_invalid_indexes{${API}}`]: always(1) } },
  VerdictManyInDoubt: { series: { [`verdict_in_doubt_recipients_total{${API},mode="live"}`]: growing(12) } },
  VerdictBlocked: { series: { [sends('policy_block', 'bounced')]: growing(120) } },
  VerdictAddressRefused: {
    series: {
      [`verdict_provider_recipients_total{${API},provider="google.com",result="sender_refused"}`]: growing(10),
      [`verdict_provider_recipients_total{${API},provider="google.com",result="other"}`]: growing(5),
    },
    labels: { provider: 'google.com' },
  },
  VerdictSiteSlowed: { series: { [`verdict_slowed_site_seconds{${API}}`]: always(4_000) } },
  VerdictBreakerOpen: { series: { [`verdict_breakers{${API},state="open"}`]: always(1) } },
  VerdictProviderBadHour: {
    series: { [`verdict_provider_bad_hours_total{${API},provider="google"}`]: growing(1) },
    labels: { provider: 'google' },
  },
  VerdictQuotaUsedUp: { series: { [`verdict_quota_accounts{${API},state="used_up"}`]: always(1) } },
  VerdictDnsFails: {
    series: { [`verdict_dns_answers_total{${API},type="MX",source="server",result="failure"}`]: growing(50) },
  },
  VerdictInboundFails: { series: { [`verdict_inbound_failures_total{${API}}`]: growing(1) } },
  VerdictDatabaseSlow: {
    series: {
      [`verdict_database_statement_duration_seconds_bucket{${API},statement="claim",le="0.05"}`]: growing(300),
    },
  },
  VerdictDatabaseBusy: {
    series: { [`verdict_database_statements_in_flight{${API}}`]: always(25) },
    labels: { instance: 'a' },
  },
  VerdictReplicaUnused: {
    series: { [`verdict_database_replicas{${API},state="behind"}`]: always(1) },
    labels: { instance: 'a' },
  },
  VerdictStreamsHeld: {
    series: { [`verdict_database_oldest_transaction_seconds{${API},owner="other"}`]: growing(60) },
    labels: { owner: 'other' },
  },
  VerdictEventLoopLate: {
    series: { [`verdict_event_loop_delay_seconds{${API},thread="main",statistic="p99"}`]: always(0.8) },
    labels: { instance: 'a' },
  },
  VerdictBodiesFull: {
    series: { [`verdict_body_budget_bytes{${API},state="used"}`]: always(260e6) },
    labels: { instance: 'a' },
  },
  VerdictFilesRunOut: {
    series: { [`verdict_process_open_fds{${API}}`]: always(17_000) },
    labels: { instance: 'a' },
  },
  VerdictSessionsRunOut: { series: { [`verdict_cluster_sessions{${API},state="open"}`]: always(90) } },
  VerdictSlotLost: { series: { [`verdict_cluster_replication_slots{${API},state="lost"}`]: always(1) } },
  VerdictFreezeLate: { series: { [`verdict_cluster_freeze_age_transactions{${API}}`]: always(1.2e9) } },
  VerdictBackupOld: { series: { [`verdict_backup_age_seconds{${API}}`]: always(27 * 3_600) } },
}

/** An installation with two sends a minute, of which all fail: what each alert on a share sees of it. */
export const SMALL_CASES: Record<string, AlertCase> = {
  VerdictCallsFail: {
    series: {
      [`verdict_calls_total{${API},rpc="EmailService/Send",protocol="rest",code="transient_failure"}`]: growing(2),
    },
  },
  VerdictCannotConnect: { series: { [sends('connection_timeout', 'bounced')]: growing(2) } },
  VerdictManyInDoubt: {
    series: {
      [sends('connection_timeout', 'bounced')]: growing(2),
      [`verdict_in_doubt_recipients_total{${API},mode="live"}`]: growing(2),
    },
  },
  VerdictBlocked: { series: { [sends('policy_block', 'bounced')]: growing(2) } },
  VerdictAddressRefused: {
    series: {
      [`verdict_provider_recipients_total{${API},provider="google.com",result="sender_refused"}`]: growing(2),
    },
    labels: { provider: 'google.com' },
  },
  VerdictDnsFails: {
    series: { [`verdict_dns_answers_total{${API},type="MX",source="server",result="failure"}`]: growing(2) },
  },
}
