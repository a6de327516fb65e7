import type { AuditEntry } from '../../../gen/verdict/admin/v1/audit_pb.ts'
import { OutsideText } from '../../outside-text/outside-text.tsx'
import { actionWords } from './actions.ts'
import styles from './audit.module.css'

type Fields = Record<string, unknown>

/** What was done, and each changed field with its value before and after. */
export function Change({ entry }: { entry: AuditEntry }) {
  const before = fieldsOf(entry.before)
  const after = fieldsOf(entry.after)
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  return (
    <div>
      {actionWords(entry.action)} <OutsideText text={entry.target} />
      {names.length > 0 && (
        <dl className={styles.fields}>
          {names.map((name) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                {name in before && (
                  <del>
                    <OutsideText text={valueText(before[name])} />
                  </del>
                )}
                {name in before && name in after && ' → '}
                {name in after && <OutsideText text={valueText(after[name])} />}
              </dd>
            </div>
          ))}
        </dl>
      )}
    </div>
  )
}

function fieldsOf(json: string | undefined): Fields {
  const value: unknown = json === undefined ? {} : JSON.parse(json)
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}

function valueText(value: unknown): string {
  if (Array.isArray(value)) return value.map(valueText).join(', ')
  return typeof value === 'string' ? value : JSON.stringify(value)
}
