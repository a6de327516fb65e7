import type { AuditEntry } from '../../../gen/verdict/admin/v1/audit_pb.ts'
import { OutsideText } from '../../outside-text/outside-text.tsx'
import { entryWords } from './actions.ts'
import styles from './audit.module.css'
import { type ChangedField, changedFields } from './field-words.ts'

type ChangedFields = Record<string, unknown>

/** What was done, and each changed field with its value before and after. */
export function AuditedChange({ entry: { action, target, ...entry } }: { entry: AuditEntry }) {
  const before = parsedFields(entry.before)
  const after = parsedFields(entry.after)
  const fields = changedFields(action, before, after)
  return (
    <div>
      {entryWords(action, after)} <OutsideText text={target} addresses={target.includes('@')} />
      {fields.length > 0 && (
        <div className={styles.fields}>
          {fields.map((field, at) => (
            <span key={field.name}>
              <ChangedWords {...field} />
              {at < fields.length - 1 && '; '}
            </span>
          ))}
        </div>
      )}
    </div>
  )
}

function ChangedWords({ name, before, after }: ChangedField) {
  return (
    <>
      {name}{' '}
      {before !== undefined && (
        <del>
          <OutsideText text={before} />
        </del>
      )}
      {before !== undefined && after !== undefined && ' → '}
      {after !== undefined && <OutsideText text={after} />}
    </>
  )
}

function parsedFields(json: string | undefined): ChangedFields {
  const value: unknown = json === undefined ? {} : JSON.parse(json)
  return typeof value === 'object' && value !== null ? (value as ChangedFields) : {}
}
