import { createClient } from '@connectrpc/connect'
import { useTransport } from '@connectrpc/connect-query'
import { Button } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { type ImportFault, ImportService } from '../../gen/verdict/admin/v1/imports_pb.ts'
import { CallFault } from '../feedback/error-state.tsx'
import { countOf } from '../numbers/quantities.ts'

interface FaultyLinesProps {
  importId: string
  fileName: string
  count: number
}

/** Downloads the lines of an import that are not an address, as CSV. */
export function FaultyLines({ importId, fileName, count }: FaultyLinesProps) {
  const transport = useTransport()
  const download = useMutation({
    async mutationFn() {
      const client = createClient(ImportService, transport)
      const faults: ImportFault[] = []
      for (let hasMore = true; hasMore; ) {
        const page = await client.listImportFaults({ importId, afterLine: faults.at(-1)?.line })
        faults.push(...page.faults)
        hasMore = page.hasMore
      }
      save(new Blob([faultsAsCsv(faults)], { type: 'text/csv' }), `${fileName}.faults.csv`)
    },
  })
  return (
    <>
      <Button
        variant="default"
        size="xs"
        leftSection={<IconDownload size={14} aria-hidden />}
        loading={download.isPending}
        onClick={() => download.mutate()}
      >
        {count === 1 ? 'Download the bad line' : `Download the ${countOf(count)} bad lines`}
      </Button>
      <CallFault error={download.error} />
    </>
  )
}

/** A cell that begins like a formula gets an apostrophe, so that no spreadsheet runs it. */
export function faultsAsCsv(faults: Pick<ImportFault, 'line' | 'text' | 'message'>[]): string {
  const cell = (text: string) => `"${text.replace(/^(?=[=+@\-\t\r])/, "'").replaceAll('"', '""')}"`
  const rows = faults.map(({ line, text, message }) => `${line},${cell(text)},${cell(message)}`)
  return `${['line,text,why', ...rows].join('\r\n')}\r\n`
}

function save(blob: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  link.download = name
  link.click()
  URL.revokeObjectURL(link.href)
}
