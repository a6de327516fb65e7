import { type Domain, type DomainRecord, RecordStatus } from '../../gen/verdict/v1/domains_pb.ts'
import { CopyButton } from '../copy/copy-button.tsx'
import { type Column, Rows } from '../lists/rows.tsx'
import { breakableAtDots } from '../outside-text/breakable.tsx'
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
  const columns: Column<DomainRecord>[] = [
    { head: 'Record', bare: true, cell: (record) => <PurposeCell {...record} /> },
    { head: 'Host', cell: ({ host }) => <HostCell host={host} domain={domain.domain} /> },
    { head: 'Value', wide: true, cell: (record) => <ValueCell {...record} /> },
    { head: 'State', cell: (record) => <StateCell record={record} domain={domain} isChecking={isChecking} /> },
  ]
  return (
    <div className={styles.records}>
      <Rows label="DNS records" columns={columns} rows={domain.records} idOf={({ host, type }) => `${host} ${type}`} />
    </div>
  )
}

function PurposeCell({ record, type, required }: DomainRecord) {
  return (
    <div className={styles.purpose}>
      <h3>{record.replace('_', '-')}</h3>
      <span className="faint">
        {type}
        {!required && ', not required'}
      </span>
      <p className={`soft ${styles.why}`}>{RECORD_PURPOSES[record]}</p>
    </div>
  )
}

/** The host name without each possible zone, as most DNS providers expect it, and in full. */
function HostCell({ host, domain }: { host: string; domain: string }) {
  return (
    <div className={styles.cell}>
      {namesInZones(host, domain).map(({ zone, name }) => (
        <div key={zone}>
          <Copied text={name} label={`host in the zone ${zone}`} />
          <p className="faint">in the zone {zone}</p>
        </div>
      ))}
      <div>
        <Copied text={host} label="full host name" />
        <p className="faint">full name</p>
      </div>
    </div>
  )
}

function ValueCell({ record, value, observed, error, status }: DomainRecord) {
  return (
    <div className={styles.cell}>
      {value ? <Copied text={value} label={`${record} value`} /> : <span className="faint">Not known yet</span>}
      {observed.length > 0 && (
        <div>
          <p className="faint">In DNS now</p>
          {observed.map((text) => (
            <div key={text}>
              <OutsideText text={text} mono />
            </div>
          ))}
        </div>
      )}
      {error && status !== RecordStatus.VERIFIED && (
        <p className={styles.advice}>
          <OutsideText text={error} />
        </p>
      )}
    </div>
  )
}

const CHECKING = { tone: 'waiting', word: 'Checking' } as const

function StateCell({ record, domain, isChecking }: RecordsProps & { record: DomainRecord }) {
  const state = isChecking ? CHECKING : stateOfRecord(record, domain)
  return (
    <div className={styles.cell} aria-live="polite">
      <Pill tone={state.tone} word={state.word} />
      {record.lastCheckedAt && (
        <p className="faint">
          Checked <Ago at={record.lastCheckedAt} />
        </p>
      )}
    </div>
  )
}

function Copied({ text, label }: { text: string; label: string }) {
  return (
    <span className={styles.copied}>
      <code>{breakableAtDots(text)}</code>
      <CopyButton text={text} label={label} />
    </span>
  )
}
