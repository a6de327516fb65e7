import { useQuery } from '@connectrpc/connect-query'
import { Button } from '@mantine/core'
import { useState } from 'react'
import { type ApiKey, KeyService, type ListKeysResponse } from '../../../gen/verdict/admin/v1/keys_pb.ts'
import { Role } from '../../../gen/verdict/admin/v1/options_pb.ts'
import { useMay } from '../../account/account.ts'
import { ReaderNote } from '../../account/reader-note.tsx'
import { EmptyState } from '../../feedback/empty-state.tsx'
import { ErrorState } from '../../feedback/error-state.tsx'
import { useAddressedDialog } from '../../frame/addressed-dialog.ts'
import { Page } from '../../frame/page.tsx'
import { LoadingRows } from '../../lists/loading-rows.tsx'
import { type Column, Rows } from '../../lists/rows.tsx'
import { Ago } from '../../time/ago.tsx'
import styles from '../settings.module.css'
import { CreateKeyDialog } from './create-key-dialog.tsx'
import { Expiry, isValid, KeyName } from './key-cells.tsx'
import { RevokeKeyDialog } from './revoke-key-dialog.tsx'

/** The API keys of the account. */
export function KeysPage() {
  const list = useQuery(KeyService.method.listKeys)
  const [creating, { open, close }] = useAddressedDialog('create')
  const create = useMay(Role.MEMBER) && (
    <Button onClick={open} disabled={!list.data}>
      Create key
    </Button>
  )
  return (
    <Page title="API keys" actions={create}>
      <ReaderNote />
      {list.error && !list.data ? (
        <ErrorState error={list.error} retry={() => void list.refetch()} />
      ) : list.data ? (
        <ApiKeyList list={list.data} />
      ) : (
        <LoadingRows columns={COLUMNS} rows={3} />
      )}
      {creating && list.data && <CreateKeyDialog list={list.data} onClose={close} />}
    </Page>
  )
}

function ApiKeyList({ list }: { list: ListKeysResponse }) {
  const [revoking, setRevoking] = useState<ApiKey>()
  const mayRevoke = useMay(Role.MEMBER)
  const valid = list.keys.filter(isValid)
  const ended = list.keys.filter((key) => !isValid(key))
  const columns = mayRevoke ? [...COLUMNS, revokeColumn(setRevoking)] : COLUMNS
  return (
    <>
      {valid.length === 0 ? (
        <EmptyState title="No key yet">
          Programs send and read with an API key. Create one to send the first email: the dashboard shows the key once,
          with a command that uses it.
        </EmptyState>
      ) : (
        <Rows label="API keys" columns={columns} rows={valid} idOf={(key) => key.keyId} />
      )}
      {ended.length > 0 && (
        <details className={styles.ended}>
          <summary>Revoked and expired keys ({ended.length})</summary>
          <Rows label="Revoked and expired keys" columns={COLUMNS} rows={ended} idOf={(key) => key.keyId} />
        </details>
      )}
      {revoking && <RevokeKeyDialog apiKey={revoking} onClose={() => setRevoking(undefined)} />}
    </>
  )
}

const COLUMNS: Column<ApiKey>[] = [
  { head: 'Name', bare: true, wide: true, cell: (key) => <KeyName apiKey={key} /> },
  { head: 'Key', cell: ({ hint }) => <code>{hint}…</code> },
  { head: 'Last used', cell: ({ lastUsedAt }) => (lastUsedAt ? <Ago at={lastUsedAt} /> : <Never />) },
  { head: 'Expires', cell: (key) => <Expiry apiKey={key} /> },
]

function Never() {
  return <span className="faint">Never</span>
}

function revokeColumn(onRevoke: (key: ApiKey) => void): Column<ApiKey> {
  return {
    head: 'Actions',
    quiet: true,
    cell: (key) => (
      <Button variant="default" size="xs" onClick={() => onRevoke(key)} aria-label={`Revoke ${key.name}`}>
        Revoke
      </Button>
    ),
  }
}
