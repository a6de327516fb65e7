import { createClient } from '@connectrpc/connect'
import { useTransport } from '@connectrpc/connect-query'
import { Button } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { csvLine } from '../../address-files/csv-line.ts'
import { type ImportFault, ImportService } from '../../gen/verdict/admin/v1/imports_pb.ts'
import { saveFile } from '../export/save-file.ts'
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
      const lines = [['line', 'text', 'why'], ...faults.map(({ line, text, message }) => [line, text, message])]
      saveFile(`${fileName}.faults.csv`, new Blob(lines.map(csvLine), { type: 'text/csv' }))
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
