import { timestampMs } from '@bufbuild/protobuf/wkt'
import type { ApiKey } from '../../../gen/verdict/admin/v1/keys_pb.ts'
import { Ago } from '../../time/ago.tsx'
import styles from './keys.module.css'
import { scopeSentence } from './scopes.ts'

interface KeyProps {
  apiKey: ApiKey
}

/** Whether calls with the key succeed. */
export function isValid({ revokedAt, expiresAt }: ApiKey): boolean {
  return revokedAt === undefined && (expiresAt === undefined || timestampMs(expiresAt) > Date.now())
}

export function KeyKindCell({ test }: { test: boolean }) {
  return (
    <span className={styles.kind} data-test={test || undefined}>
      {test ? 'Test' : 'Live'}
    </span>
  )
}

/** Name and kind of a key, and what it may do. */
export function KeyName({ apiKey }: KeyProps) {
  return (
    <div className={styles.name}>
      <span className={styles.title}>
        <bdi>{apiKey.name}</bdi> <KeyKindCell test={apiKey.test} />
      </span>
      <span className={styles.scopes}>
        {apiKey.scopes.map((scope) => (
          <code key={scope} title={scopeSentence(scope)}>
            {scope}
          </code>
        ))}
      </span>
    </div>
  )
}

/** When a key ends, or when it ended. */
export function Expiry({ apiKey: { revokedAt, expiresAt } }: KeyProps) {
  if (revokedAt) {
    return (
      <span className="faint">
        Revoked <Ago at={revokedAt} />
      </span>
    )
  }
  if (!expiresAt) return <span className="faint">Never</span>
  return <Ago at={expiresAt} />
}
