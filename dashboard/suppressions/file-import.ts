import { createClient, type Transport } from '@connectrpc/connect'
import { useTransport } from '@connectrpc/connect-query'
import { useRef, useState } from 'react'
import { AddressFileFault } from '../../address-files/addresses.ts'
import { type Import, ImportService, ImportState } from '../../gen/verdict/admin/v1/imports_pb.ts'
import { SuppressionService } from '../../gen/verdict/v1/suppression_pb.ts'
import { useRefresh } from '../refresh.ts'
import { type AddressFile, readAddressFile, skippedWords } from './address-file.ts'

export const MAX_LINES = 1_000_000
const PART_LINES = 10_000

/** An import as its page sees it. */
export type ImportView =
  | { phase: 'idle' }
  | { phase: 'reading'; fileName: string }
  | { phase: 'refused'; message: string }
  | { phase: 'running'; current: Import }
  /** A call failed. The import goes on from its next part when it is resumed. */
  | { phase: 'stopped'; current: Import | undefined; error: unknown }
  | { phase: 'ended'; current: Import }

export interface FileImport {
  view: ImportView
  /** Which lines of the file are skipped, in words. */
  skipped: string
  start(file: File, tenantId: string): void
  resume(): void
  cancel(): void
  /** Forgets an import that has ended. */
  close(): void
}

interface Work extends AddressFile {
  fileName: string
  tenantId: string | undefined
}

/** Imports a file part by part. Each part is stored before the next one is sent. */
export function useFileImport(): FileImport {
  const transport = useTransport()
  const refresh = useRefresh()
  const [view, setView] = useState<ImportView>({ phase: 'idle' })
  const work = useRef<Work>(undefined)
  const isCancelled = useRef(false)

  async function run(): Promise<void> {
    let current: Import | undefined
    try {
      for await (current of parts(transport, work.current!, () => isCancelled.current)) {
        setView({ phase: current.state === ImportState.RUNNING ? 'running' : 'ended', current })
      }
      void refresh(ImportService.method.listImports, SuppressionService.method.list)
    } catch (error) {
      setView({ phase: 'stopped', current, error })
      void refresh(ImportService.method.listImports)
    }
  }

  async function start(file: File, tenantId: string): Promise<void> {
    isCancelled.current = false
    setView({ phase: 'reading', fileName: file.name })
    const read = await readAddressFile(file).catch((error: Error) => error)
    const refusal = refusalOf(read)
    if (refusal) return setView({ phase: 'refused', message: refusal })
    work.current = { ...(read as AddressFile), fileName: file.name, tenantId: tenantId || undefined }
    await run()
  }

  return {
    view,
    skipped: work.current ? skippedWords(work.current) : '',
    start: (file, tenantId) => void start(file, tenantId),
    resume: () => void run(),
    cancel() {
      isCancelled.current = true
      if (view.phase !== 'stopped') return
      // One that was refused at its start does not exist.
      if (view.current) void run()
      else setView({ phase: 'idle' })
    },
    close: () => setView({ phase: 'idle' }),
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

/** Starts or continues the import and adds part after part; yields the import after each step. */
async function* parts(
  transport: Transport,
  { fileName, digest, emails, tenantId }: Work,
  isCancelled: () => boolean,
): AsyncGenerator<Import> {
  const client = createClient(ImportService, transport)
  const started = await client.startImport({ fileName, digest, tenantId, lines: emails.length })
  let current = started.import!
  yield current
  while (current.state === ImportState.RUNNING) {
    const { importId, nextPart: part } = current
    const firstLine = part * PART_LINES + 1
    const response = isCancelled()
      ? await client.cancelImport({ importId })
      : await client.addPart({
          importId,
          part,
          firstLine,
          emails: emails.slice(firstLine - 1, firstLine - 1 + PART_LINES),
          last: firstLine - 1 + PART_LINES >= emails.length,
        })
    current = response.import!
    yield current
  }
}
