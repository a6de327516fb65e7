import { Button, FileButton, Group, Progress, Stack, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { Counts } from '../../address-files/table.ts'
import { type Import, ImportState } from '../../gen/verdict/admin/v1/imports_pb.ts'
import { errorCodeOf } from '../feedback/call-error.ts'
import { CallFault } from '../feedback/error-state.tsx'
import { countOf } from '../numbers/quantities.ts'
import { OutsideText } from '../outside-text/outside-text.tsx'
import { shownIn } from '../status/shown-in.ts'
import type { ShownState } from '../status/statuses.ts'
import { FaultyLines } from './faulty-lines.tsx'
import { type FileImport, type ImportView, isPreview, type PreviewView, useFileImport } from './file-import.ts'
import { ColumnSelect, PreviewPanel, StatesChoice } from './preview-panel.tsx'
import styles from './suppressions.module.css'
import { UndoImport } from './undo-import.tsx'

/** Chooses a file of addresses, shows what its import would do, and the progress of the import. */
export function ImportPanel() {
  const fileImport = useFileImport()
  const { view, skipped } = fileImport
  return (
    <section className={styles.panel} aria-label="Import a file">
      {view.phase === 'idle' || view.phase === 'refused' ? (
        <FileChoice
          onChoose={fileImport.choose}
          refusal={view.phase === 'refused' ? view.message : undefined}
          columns={view.phase === 'refused' ? view.columns : []}
          states={view.phase === 'refused' ? view.states : undefined}
          change={fileImport.change}
        />
      ) : (
        <Stack gap="sm">
          {isPreview(view) ? (
            <PreviewPanel view={view} fileImport={fileImport} />
          ) : (
            <Progressing view={view} skipped={skipped} />
          )}
          <Actions fileImport={fileImport} />
        </Stack>
      )}
    </section>
  )
}

/** The buttons below a file. */
function Actions({ fileImport }: { fileImport: FileImport }) {
  const { view } = fileImport
  const mayResume = view.phase === 'stopped' && !isForbidden(view.error)
  const mayCancel = view.phase === 'reading' || view.phase === 'running' || mayResume
  return (
    <Group gap="xs">
      {view.phase === 'previewed' && view.preview && (
        <Button onClick={fileImport.start} disabled={view.preview.added === 0}>
          {importWords(view.preview.added)}
        </Button>
      )}
      {(mayResume || view.phase === 'unpreviewed') && (
        <Button onClick={fileImport.resume}>{mayResume && view.current ? 'Resume' : 'Try again'}</Button>
      )}
      {(mayCancel || isPreview(view)) && (
        <Button variant="default" onClick={fileImport.cancel} disabled={view.phase === 'reading'}>
          {isPreview(view) ? 'Cancel' : 'Cancel import'}
        </Button>
      )}
      {view.phase === 'ended' && (
        <>
          <Button variant="default" onClick={fileImport.close}>
            Import another file
          </Button>
          <UndoImport of={view.current} onUndone={fileImport.close} />
        </>
      )}
    </Group>
  )
}

const importWords = (count: number) => (count === 1 ? 'Import 1 address' : `Import ${countOf(count)} addresses`)

interface FileChoiceProps {
  refusal: string | undefined
  /** The columns of the refused file, when the person must choose one. */
  columns: string[]
  onChoose(file: File, tenantId: string): void
  /** The states of its rows, when the person must choose among them. */
  states: Counts | undefined
  change: FileImport['change']
}

function FileChoice({ refusal, columns, states, onChoose, change }: FileChoiceProps) {
  const [tenantId, setTenantId] = useState('')
  return (
    <Stack gap="sm" align="flex-start">
      <p className="soft">
        A text file with one address per line, a CSV file with a column of addresses, or JSON, as other services export
        it. At most 1,000,000 lines. You see what the import would do before it begins. An address that is already
        suppressed stays as it is.
      </p>
      <TextInput
        label="Tenant (optional)"
        description="Only sends of this tenant are refused. Leave it empty for all sends of the account."
        value={tenantId}
        onChange={(event) => setTenantId(event.currentTarget.value)}
        spellCheck={false}
      />
      <FileButton
        accept=".csv,.txt,.json,.jsonl,text/csv,text/plain,application/json"
        onChange={(file) => file && onChoose(file, tenantId.trim())}
      >
        {(props) => <Button {...props}>Choose a file</Button>}
      </FileButton>
      {refusal && (
        <p role="alert" className={styles.refusal}>
          {refusal}
        </p>
      )}
      {columns.length > 0 && (
        <ColumnSelect columns={columns} column={undefined} onChoose={(column) => change({ column })} />
      )}
      {states && <StatesChoice states={states} chosen={[]} change={change} />}
    </Stack>
  )
}

type ShownImport = Exclude<ImportView, { phase: 'idle' | 'refused' } | PreviewView>

/** Whether the person may not import: then no repeat of the call helps. */
const isForbidden = (error: unknown) => errorCodeOf(error) === 'insufficient_role'

function Progressing({ view, skipped }: { view: ShownImport; skipped: string }) {
  if (view.phase === 'reading') {
    return (
      <p role="status">
        Reading <OutsideText text={view.fileName} />
      </p>
    )
  }
  return (
    <>
      {view.current && <ImportResult of={view.current} skipped={skipped} />}
      {view.phase === 'stopped' && (
        <>
          <CallFault error={view.error} />
          {view.current && !isForbidden(view.error) && (
            <p className="soft">
              What was imported stays. Resume goes on with the next line, in this tab or another one.
            </p>
          )}
        </>
      )}
    </>
  )
}

/** The progress of an import, and what became of its lines. */
function ImportResult({ of: current, skipped }: { of: Import; skipped: string }) {
  const { fileName, lines, linesDone, imported, alreadySuppressed, invalid, state, importId } = current
  return (
    <>
      <p role="status">
        <strong>
          <OutsideText text={fileName} />
        </strong>
        : {shownIn(IMPORT_STATES, state).word.toLowerCase()}, {countOf(linesDone)} of {countOf(lines)} lines.{' '}
        {countOf(imported)} added, {countOf(alreadySuppressed)} already suppressed, {countOf(invalid)} not an address.{' '}
        {skipped}
      </p>
      <Progress.Root size="sm">
        <Progress.Section value={lines === 0 ? 100 : (linesDone / lines) * 100} aria-label="Lines done" />
      </Progress.Root>
      {invalid > 0 && state !== ImportState.RUNNING && (
        <div>
          <FaultyLines importId={importId} fileName={fileName} count={invalid} />
        </div>
      )}
    </>
  )
}

/** How each state of an import is shown. */
export const IMPORT_STATES: Record<ImportState, ShownState> = {
  [ImportState.UNSPECIFIED]: { tone: 'neutral', word: 'Unknown' },
  [ImportState.RUNNING]: { tone: 'waiting', word: 'Under way' },
  [ImportState.FINISHED]: { tone: 'delivered', word: 'Finished' },
  [ImportState.CANCELLED]: { tone: 'neutral', word: 'Cancelled' },
  [ImportState.UNDONE]: { tone: 'neutral', word: 'Undone' },
}
