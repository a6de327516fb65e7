import { Role } from '../../gen/verdict/admin/v1/options_pb.ts'
import { useMay } from '../account/account.ts'
import { ReaderNote } from '../account/reader-note.tsx'
import { Page } from '../frame/page.tsx'
import { ImportPanel } from './import-panel.tsx'
import { PastImports } from './past-imports.tsx'

/** Imports a file into the suppression list, and lists what was imported before. */
export function ImportPage() {
  return (
    <Page title="Import suppressions">
      {useMay(Role.MEMBER) ? <ImportPanel /> : <ReaderNote />}
      <PastImports />
    </Page>
  )
}
