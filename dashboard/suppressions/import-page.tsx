import { Page } from '../frame/page.tsx'
import { ImportPanel } from './import-panel.tsx'
import { PastImports } from './past-imports.tsx'

/** Imports a file into the suppression list, and lists what was imported before. */
export function ImportPage() {
  return (
    <Page title="Import suppressions">
      <ImportPanel />
      <PastImports />
    </Page>
  )
}
