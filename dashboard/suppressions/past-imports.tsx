import { useMutation, useQuery } from '@connectrpc/connect-query'
import { Button } from '@mantine/core'
import { type Import, ImportService, ImportState } from '../../gen/verdict/admin/v1/imports_pb.ts'
import { Role } from '../../gen/verdict/admin/v1/options_pb.ts'
import { useMay } from '../account/account.ts'
import { CallFault } from '../feedback/error-state.tsx'
import { type Column, Rows } from '../lists/rows.tsx'
import { countOf } from '../numbers/quantities.ts'
import { EmailAddress } from '../outside-text/address.tsx'
import { OutsideText } from '../outside-text/outside-text.tsx'
import { useRefresh } from '../refresh.ts'
import { shownIn } from '../status/shown-in.ts'
import { Pill } from '../status/status-pill.tsx'
import { Ago } from '../time/ago.tsx'
import { FaultyLines } from './faulty-lines.tsx'
import { IMPORT_STATES } from './import-panel.tsx'
import styles from './suppressions.module.css'
import { UndoImport } from './undo-import.tsx'

/** The last imports of the account. Renders nothing when there was none. */
export function PastImports() {
  const { data } = useQuery(ImportService.method.listImports)
  if (!data?.imports.length) return null
  return (
    <section className={styles.past}>
      <h2>Past imports</h2>
      <Rows label="Past imports" columns={COLUMNS} rows={data.imports} idOf={({ importId }) => importId} />
    </section>
  )
}

const COLUMNS: Column<Import>[] = [
  { head: 'File', wide: true, cell: ({ fileName }) => <OutsideText text={fileName} line /> },
  { head: 'State', cell: ({ state }) => <Pill {...shownIn(IMPORT_STATES, state)} /> },
  { head: 'Added', numbers: true, cell: ({ imported }) => countOf(imported) },
  { head: 'Already there', numbers: true, cell: ({ alreadySuppressed }) => countOf(alreadySuppressed) },
  { head: 'Not an address', numbers: true, cell: ({ invalid }) => countOf(invalid) },
  { head: 'By', cell: ({ createdBy }) => <EmailAddress email={createdBy} /> },
  { head: 'Started', numbers: true, cell: ({ createdAt }) => createdAt && <Ago at={createdAt} /> },
  {
    head: 'Lines',
    quiet: true,
    cell: ({ state, invalid, imported, importId, fileName }) => (
      <>
        <UndoImport of={{ state, imported, importId, fileName }} />
        {invalid > 0 && <FaultyLines importId={importId} fileName={fileName} count={invalid} />}
        {state === ImportState.RUNNING && <CancelImport importId={importId} />}
      </>
    ),
  },
]

/** Ends an import that was interrupted and whose file is not at hand. It counts as running until then. */
function CancelImport({ importId }: Pick<Import, 'importId'>) {
  const refresh = useRefresh()
  const cancel = useMutation(ImportService.method.cancelImport, {
    onSuccess: () => refresh(ImportService.method.listImports),
  })
  if (!useMay(Role.MEMBER)) return null
  return (
    <>
      <Button variant="default" size="xs" loading={cancel.isPending} onClick={() => cancel.mutate({ importId })}>
        Cancel
      </Button>
      <CallFault error={cancel.error} />
    </>
  )
}
