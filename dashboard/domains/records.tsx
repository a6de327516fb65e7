import { type Domain, type DomainRecord, RecordStatus } from '../../gen/verdict/v1/domains_pb.ts'
import { CopyButton } from '../copy/copy-button.tsx'
import { OutsideText } from '../outside-text/outside-text.tsx'
import { Pill } from '../status/status-pill.tsx'
import { Ago } from '../time/ago.tsx'
import { namesInZones, RECORD_PURPOSES, stateOfRecord } from './domain-states.ts'
import styles from './domains.module.css'

interface RecordsProps {
  domain: Domain
  /** Whether DNS is checked at this moment. */
  isChecking: boolean
}

/** The records to publish, each beside what DNS has and with what to do. */
export function Records({ domain, isChecking }: RecordsProps) {
  return (
    <ol className={styles.records}>
      {domain.records.map((record) => (
        <li key={`${record.host} ${record.type}`} className={styles.record}>
          <RecordView domain={domain} record={record} isChecking={isChecking} />
        </li>
      ))}
    </ol>
  )
}

const CHECKING = { tone: 'waiting', word: 'Checking' } as const

function RecordView({ domain, record, isChecking }: RecordsProps & { record: DomainRecord }) {
  const { record: purpose, required, status, error, lastCheckedAt, observed } = record
  const state = isChecking ? CHECKING : stateOfRecord(record, domain.status)
  return (
    <>
      <header className={styles.recordHead}>
        <h3>{purpose.replace('_', '-')}</h3>
        <span className="faint">{record.type}</span>
        {!required && <span className="faint">not required</span>}
        <span className={styles.recordState} aria-live="polite">
          <Pill tone={state.tone} word={state.word} />
        </span>
      </header>
      <p className="soft">{RECORD_PURPOSES[purpose]}</p>
      <dl className={styles.facts}>
        <Host host={record.host} domain={domain.domain} />
        <dt>Value</dt>
        <dd>{record.value ? <Copied text={record.value} label={`${purpose} value`} /> : 'Not known yet'}</dd>
        {observed.length > 0 && <dt>In DNS now</dt>}
        {observed.length > 0 && (
          <dd>
            {observed.map((value) => (
              <div key={value}>
                <OutsideText text={value} mono />
              </div>
            ))}
          </dd>
        )}
      </dl>
      {error && status !== RecordStatus.VERIFIED && (
        <p className={styles.advice}>
          <OutsideText text={error} />
        </p>
      )}
      {lastCheckedAt && (
        <p className="faint">
          Checked <Ago at={lastCheckedAt} />
        </p>
      )}
    </>
  )
}

function Host({ host, domain }: { host: string; domain: string }) {
  const names = namesInZones(host, domain)
  return (
    <>
      <dt>Host</dt>
      <dd>
        <Copied text={host} label="whole host" />
        {names.length > 0 && <p className="faint">Most providers want the name without their zone at its end.</p>}
        {names.map(({ zone, name }) => (
          <div key={zone} className={styles.relative}>
            <span className="faint">In the zone {zone}:</span>
            <Copied text={name} label={`host in the zone ${zone}`} />
          </div>
        ))}
      </dd>
    </>
  )
}

function Copied({ text, label }: { text: string; label: string }) {
  return (
    <span className={styles.copied}>
      <code>{text}</code>
      <CopyButton text={text} label={label} />
    </span>
  )
}
