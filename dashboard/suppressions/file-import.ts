import { createClient, type Transport } from '@connectrpc/connect'
import { useTransport } from '@connectrpc/connect-query'
import { useRef, useState } from 'react'
import type { Reason } from '../../address-files/reasons.ts'
import { AddressFileFault, type Counts } from '../../address-files/table.ts'
import { type Import, ImportService, ImportState } from '../../gen/verdict/admin/v1/imports_pb.ts'
import { DomainService } from '../../gen/verdict/v1/domains_pb.ts'
import { SuppressionReason } from '../../gen/verdict/v1/outcomes_pb.ts'
import { SuppressionService } from '../../gen/verdict/v1/suppression_pb.ts'
import { present } from '../present.ts'
import { useRefresh } from '../refresh.ts'
import { type AddressFile, type FileChoices, readAddressFile, skippedWords } from './address-file.ts'
import { PART_LINES, type PartialPreview, previewLines } from './import-preview.ts'

export const MAX_LINES = 1_000_000

/** An import as its page sees it. */
export type ImportView =
  | { phase: 'idle' }
  | { phase: 'reading'; fileName: string }
  /** With the columns or the states of the file, when the person must choose among them. */
  | { phase: 'refused'; message: string; columns: string[]; states: Counts | undefined }
  /** What the import would do, so far or in the end. */
  | { phase: 'previewing' | 'previewed'; fileName: string; lines: number; preview: PartialPreview | undefined }
  | { phase: 'unpreviewed'; fileName: string; error: unknown }
  | { phase: 'running'; current: Import }
  /** A call failed. The import goes on from its next part when it is resumed. */
  | { phase: 'stopped'; current: Import | undefined; error: unknown }
  | { phase: 'ended'; current: Import }

/** The file is previewed, and not imported yet. */
export type PreviewView = Extract<ImportView, { phase: 'previewing' | 'previewed' | 'unpreviewed' }>

export const isPreview = (view: ImportView): view is PreviewView =>
  view.phase === 'previewing' || view.phase === 'previewed' || view.phase === 'unpreviewed'

export interface FileImport {
  view: ImportView
  /** Which lines of the file are skipped, in words. */
  skipped: string
  /** How the file was understood; undefined before it was. */
  file: AddressFile | undefined
  choices: FileChoices
  /** Reads a file and previews its import. */
  choose(file: File, tenantId: string): void
  /** Reads the chosen file again, by these choices beside the earlier ones. */
  change(choices: FileChoices): void
  /** Imports what was previewed. */
  start(): void
  resume(): void
  cancel(): void
  /** Forgets an import that has ended. */
  close(): void
}

interface Chosen {
  file: File
  tenantId: string
  choices: FileChoices
  /** The account's own domains: asked for once a file. */
  domains: Promise<string[]>
}

interface Work extends AddressFile {
  fileName: string
  tenantId: string | undefined
}

/** Previews the import of a file, and imports it part by part. Each part is stored before the next one is sent. */
export function useFileImport(): FileImport {
  const transport = useTransport()
  const refresh = useRefresh()
  const [view, setView] = useState<ImportView>({ phase: 'idle' })
  const chosen = useRef<Chosen>(undefined)
  const work = useRef<Work>(undefined)
  const previewing = useRef(new AbortController())
  const isCancelled = useRef(false)

  async function run(): Promise<void> {
    let current: Import | undefined
    try {
      for await (current of parts(transport, present(work.current), () => isCancelled.current)) {
        setView({ phase: current.state === ImportState.RUNNING ? 'running' : 'ended', current })
      }
      void refresh(ImportService.method.listImports, SuppressionService.method.list)
    } catch (error) {
      setView({ phase: 'stopped', current, error })
      void refresh(ImportService.method.listImports)
    }
  }

  async function read(next: Chosen): Promise<void> {
    chosen.current = next
    const { file, tenantId, choices, domains } = next
    previewing.current.abort()
    setView({ phase: 'reading', fileName: file.name })
    const read = await domains.then((domains) => readAddressFile(file, choices, domains)).catch((error: Error) => error)
    const message = refusalOf(read)
    if (message) {
      work.current = undefined
      const { columns = [], states = [] } = read instanceof AddressFileFault ? read : {}
      return setView({ phase: 'refused', message, columns, states: states[0] })
    }
    work.current = { ...(read as AddressFile), fileName: file.name, tenantId: tenantId || undefined }
    await preview()
  }

  async function preview(): Promise<void> {
    previewing.current.abort()
    previewing.current = new AbortController()
    const { signal } = previewing.current
    const current = present(work.current)
    const { fileName, emails } = current
    const lines = emails.length
    setView({ phase: 'previewing', fileName, lines, preview: undefined })
    try {
      for await (const preview of previewLines(transport, current, signal)) {
        if (signal.aborted) return
        setView({ phase: preview.linesDone < lines ? 'previewing' : 'previewed', fileName, lines, preview })
      }
    } catch (error) {
      if (!signal.aborted) setView({ phase: 'unpreviewed', fileName, error })
    }
  }

  function close(): void {
    previewing.current.abort()
    setView({ phase: 'idle' })
  }

  return {
    view,
    skipped: work.current ? skippedWords(work.current) : '',
    file: work.current,
    choices: chosen.current?.choices ?? {},
    choose: (file, tenantId) => void read({ file, tenantId, choices: {}, domains: ownDomains(transport) }),
    change(choices) {
      const before = present(chosen.current)
      void read({ ...before, choices: { ...before.choices, ...choices } })
    },
    start() {
      isCancelled.current = false
      void run()
    },
    resume: () => void (view.phase === 'unpreviewed' ? preview() : run()),
    cancel() {
      isCancelled.current = true
      // An import that was refused at its start does not exist.
      if (view.phase === 'stopped' && view.current) void run()
      else if (view.phase !== 'running') close()
    },
    close,
  }
}

function refusalOf(read: AddressFile | Error): string | undefined {
  if (!globalThis.crypto?.subtle) return 'Your browser imports files over https only. Open this page over https.'
  if (read instanceof AddressFileFault) return read.message
  if (read instanceof Error) return 'The file could not be read. Choose it again.'
  if (read.emails.length > MAX_LINES) return 'The file has more than 1,000,000 lines. Split it, and import each part.'
  return read.emails.every((email) => email === '')
    ? 'The file has no addresses. It needs one in each line.'
    : undefined
}

async function ownDomains(transport: Transport): Promise<string[]> {
  const { domains } = await createClient(DomainService, transport).listDomains({})
  return domains.map(({ domain }) => domain)
}

const REASONS: Record<Reason, SuppressionReason> = {
  bounce: SuppressionReason.BOUNCE,
  complaint: SuppressionReason.COMPLAINT,
  manual: SuppressionReason.MANUAL,
  import: SuppressionReason.IMPORT,
}

/** Starts or continues the import and adds part after part; yields the import after each step. */
async function* parts(
  transport: Transport,
  { fileName, digest, emails, lineReasons, tenantId }: Work,
  isCancelled: () => boolean,
): AsyncGenerator<Import> {
  const client = createClient(ImportService, transport)
  const started = await client.startImport({ fileName, digest, tenantId, lines: emails.length })
  let current = present(started.import)
  yield current
  while (current.state === ImportState.RUNNING) {
    const { importId, nextPart: part } = current
    const from = part * PART_LINES
    const firstLine = from + 1
    const response = isCancelled()
      ? await client.cancelImport({ importId })
      : await client.addPart({
          importId,
          part,
          firstLine,
          emails: emails.slice(from, from + PART_LINES),
          reasons: lineReasons.slice(from, from + PART_LINES).map((reason) => REASONS[reason]),
          last: from + PART_LINES >= emails.length,
        })
    current = present(response.import)
    yield current
  }
}
