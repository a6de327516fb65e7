import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from '@bufbuild/protobuf'
import { callUnaryMethod, useTransport } from '@connectrpc/connect-query'
import { Button } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { type Cell, csvLine } from '../../address-files/csv-line.ts'
import { CallFault } from '../feedback/error-state.tsx'
import type { ListPage } from '../lists/new-rows.ts'
import { countOf } from '../numbers/quantities.ts'
import { saveFile } from './save-file.ts'

interface ExportListProps<I extends DescMessage, O extends DescMessage, Row> {
  /** A method whose request has the fields `cursor` and `limit`. */
  method: DescMethodUnary<I, O>
  /** The filters. */
  input: MessageInitShape<I>
  read(response: MessageShape<O>): ListPage<Row>
  /** The first part of the file's name. */
  name: string
  head: string[]
  /** The lines that a row becomes. */
  linesOf(row: Row): Cell[][]
}

/** Saves every row that the filters match as CSV, and says how many it has while it reads them. */
export function ExportList<I extends DescMessage, O extends DescMessage, Row>(props: ExportListProps<I, O, Row>) {
  const transport = useTransport()
  const [count, setCount] = useState(0)

  const run = useMutation({
    async mutationFn(stop: AbortController) {
      const { method, input, read, name, head, linesOf } = props
      const { signal } = stop
      const parts = [csvLine(head)]
      let rows = 0
      let cursor: string | undefined
      do {
        const request = { ...input, limit: 100, cursor } as MessageInitShape<I>
        const page = read(await callUnaryMethod(transport, method, request, { signal }))
        parts.push(page.rows.flatMap(linesOf).map(csvLine).join(''))
        rows += page.rows.length
        setCount(rows)
        cursor = page.next
      } while (cursor !== undefined)
      saveFile(`${name}-${new Date().toISOString().slice(0, 10)}.csv`, new Blob(parts, { type: 'text/csv' }))
    },
    onSettled: () => setCount(0),
  })
  if (run.isPending) {
    return (
      <Button variant="default" size="sm" onClick={() => run.variables.abort()}>
        Stop the export at {countOf(count)}
      </Button>
    )
  }
  return (
    <>
      <Button
        variant="default"
        size="sm"
        leftSection={<IconDownload size={16} aria-hidden />}
        onClick={() => run.mutate(new AbortController())}
      >
        Export
      </Button>
      {!run.variables?.signal.aborted && <CallFault error={run.error} />}
    </>
  )
}
