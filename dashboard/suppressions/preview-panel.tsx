import { Chip, Group, NativeSelect, Progress } from '@mantine/core'
import type { ReactNode } from 'react'
import type { Preview } from '../../address-files/import-preview.ts'
import type { Counts } from '../../address-files/table.ts'
import { CallFault } from '../feedback/error-state.tsx'
import { countOf } from '../numbers/quantities.ts'
import { OutsideText } from '../outside-text/outside-text.tsx'
import { present } from '../present.ts'
import type { FileImport, PreviewView } from './file-import.ts'
import styles from './suppressions.module.css'

/** What an import would do, before it does it. */
export function PreviewPanel({ view, fileImport }: { view: PreviewView; fileImport: FileImport }) {
  const { skipped } = fileImport
  return (
    <>
      <p role="status">
        <strong>
          <OutsideText text={view.fileName} />
        </strong>
        : {view.phase === 'previewed' ? 'not imported yet.' : 'being looked at.'} {skipped}
      </p>
      <UnderstoodFile fileImport={fileImport} />
      {view.phase === 'unpreviewed' ? <CallFault error={view.error} /> : <Counted view={view} />}
    </>
  )
}

function Counted({ view: { phase, lines, preview } }: { view: Exclude<PreviewView, { phase: 'unpreviewed' }> }) {
  if (phase === 'previewing') {
    const done = preview?.linesDone ?? 0
    return (
      <Progress.Root size="sm">
        <Progress.Section value={(done / lines) * 100} aria-label="Lines looked at" />
      </Progress.Root>
    )
  }
  return <CountedKinds preview={present(preview)} />
}

function CountedKinds({ preview }: { preview: Preview }) {
  const { added, known, invalid, firstAdded, firstKnown, firstInvalid } = preview
  return (
    <div className={styles.preview}>
      <AddressKind head={`${countOf(added)} new`} count={added} texts={firstAdded} />
      <AddressKind head={`${countOf(known)} already suppressed`} count={known} texts={firstKnown} />
      <AddressKind
        head={`${countOf(invalid)} not an address`}
        count={invalid}
        texts={firstInvalid.map(({ line, email }) => `line ${countOf(line)}: ${email}`)}
      />
    </div>
  )
}

function AddressKind({ head, count, texts }: { head: string; count: number; texts: string[] }): ReactNode {
  return (
    <section aria-label={head}>
      <h3>{head}</h3>
      <ul>
        {texts.map((text, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: an address may be in the list twice, and the list never changes
          <li key={i}>
            <OutsideText text={text} line />
          </li>
        ))}
      </ul>
      {count > texts.length && <p className="soft">and {countOf(count - texts.length)} more</p>}
    </section>
  )
}

/** How the file was understood, and what the person may choose instead. */
function UnderstoodFile({ fileImport: { file, choices, change } }: { fileImport: FileImport }) {
  if (!file) return null
  const { columns, column, hasHeader, states, reasons, ownDomains } = file
  const own = Object.entries(ownDomains).map(([domain, count]) => `${countOf(count)} of ${domain}`)
  return (
    <>
      {columns.length > 1 && (
        <ColumnSelect columns={columns} column={column} onChoose={(column) => change({ column })} />
      )}
      {states && <StatesChoice states={states} chosen={choices.states?.values ?? []} change={change} />}
      {columns.length > 1 && hasHeader && (
        <NativeSelect
          label="Column of the reasons"
          description={reasons && Object.entries(reasons.counts).map(countedWords).join(', ')}
          value={choices.reasonColumn ?? ''}
          data={[{ value: '', label: 'None: all are imported ones' }, ...columns.filter((name) => name !== '')]}
          onChange={(event) => change({ reasonColumn: event.currentTarget.value || undefined })}
        />
      )}
      {own.length > 0 && (
        <p className="soft">Left out, because the account sends from their domains: {own.join(', ')}.</p>
      )}
    </>
  )
}

const countedWords = ([value, count]: [string, number]) => `${value || 'empty'} ${countOf(count)}`

interface StatesChoiceProps {
  states: Counts
  chosen: string[]
  change: FileImport['change']
}

/** Chooses the rows of a file by what became of their messages. */
export function StatesChoice({ states: { column, counts }, chosen, change }: StatesChoiceProps) {
  return (
    <fieldset className={styles.states}>
      <legend>
        Rows by <OutsideText text={column} />: choose those to suppress
      </legend>
      <Chip.Group
        multiple
        value={chosen}
        onChange={(values) => change({ states: values.length > 0 ? { column, values } : undefined })}
      >
        <Group gap="xs">
          {Object.entries(counts).map(([value, count]) => (
            <Chip key={value} value={value}>
              {countedWords([value, count])}
            </Chip>
          ))}
        </Group>
      </Chip.Group>
    </fieldset>
  )
}

interface ColumnChoiceProps {
  columns: string[]
  /** Undefined when none is chosen yet. */
  column: number | undefined
  onChoose(column: number): void
}

/** Chooses the column of the addresses. */
export function ColumnSelect({ columns, column, onChoose }: ColumnChoiceProps) {
  const choices = columns.map((name, i) => ({ value: String(i), label: `${i + 1}. ${name || 'without a name'}` }))
  return (
    <NativeSelect
      label="Column of the addresses"
      value={column === undefined ? '' : String(column)}
      data={column === undefined ? [{ value: '', label: 'Choose a column' }, ...choices] : choices}
      onChange={(event) => event.currentTarget.value !== '' && onChoose(Number(event.currentTarget.value))}
    />
  )
}
