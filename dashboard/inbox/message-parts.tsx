import { IconDownload } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import type { InboxAttachment, InboxHeader } from '../../gen/verdict/admin/v1/inbox_pb.ts'
import { type Column, Rows } from '../lists/rows.tsx'
import { sizeOf } from '../numbers/quantities.ts'
import { OutsideText } from '../outside-text/outside-text.tsx'
import styles from './inbox.module.css'

/** The header fields in their order. */
export function HeaderList({ headers }: { headers: InboxHeader[] }) {
  const rows = headers.map((header, at) => ({ ...header, id: `${at}` }))
  return <Rows label="Headers" columns={HEADERS} rows={rows} idOf={({ id }) => id} />
}

const HEADERS: Column<{ id: string; name: string; value: string }>[] = [
  { head: 'Name', cell: ({ name }) => <OutsideText text={name} line /> },
  { head: 'Value', wide: true, cell: ({ value }) => <OutsideText text={value} mono /> },
]

/** The attached files. They are only ever downloaded. */
export function AttachmentList({ attachments, path }: { attachments: InboxAttachment[]; path: string }) {
  const rows = attachments.map((attachment, at) => ({ ...attachment, href: `${path}/attachments/${at}` }))
  return <Rows label="Attachments" columns={ATTACHMENTS} rows={rows} idOf={({ href }) => href} />
}

const ATTACHMENTS: Column<Omit<InboxAttachment, '$typeName' | '$unknown'> & { href: string }>[] = [
  {
    head: 'File',
    wide: true,
    cell: ({ filename }) => (filename ? <OutsideText text={filename} line /> : <span className="faint">No name</span>),
  },
  { head: 'Type', cell: ({ contentType }) => <OutsideText text={contentType} line /> },
  { head: 'Use', cell: ({ inline }) => (inline ? 'Within the HTML' : 'Attached') },
  { head: 'Size', numbers: true, cell: ({ sizeBytes }) => sizeOf(sizeBytes) },
  { head: 'Download', quiet: true, cell: ({ href }) => <DownloadLink href={href}>Download</DownloadLink> },
]

export function DownloadLink({ href, children }: { href: string; children: ReactNode }) {
  return (
    <a className={`text-link ${styles.download}`} href={href} download>
      <IconDownload size={14} aria-hidden />
      {children}
    </a>
  )
}
