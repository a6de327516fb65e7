import { type BuiltFile, readBuiltFiles } from './built-files.ts'

/** Placeholder in the built page for the nonce of the response. */
export const NONCE = 'nonce-of-this-response'

export interface DashboardFiles {
  /** The page that every path under /dashboard shows, with `NONCE` in the place of a nonce. */
  page: string
  /** The files that it loads, by their paths in `assets`. */
  assets: Map<string, BuiltFile>
}

/** Reads the build of the dashboard. Throws without a build. */
export async function readDashboardFiles(folder: string): Promise<DashboardFiles> {
  const files = await readBuiltFiles(folder)
  const page = files.get('index.html')
  if (!page) throw new Error(`${folder} has no index.html`)
  const assets = [...files].filter(([name]) => name.startsWith('assets/'))
  return {
    page: page.bytes.toString(),
    assets: new Map(assets.map(([name, file]) => [name.slice('assets/'.length), file])),
  }
}
