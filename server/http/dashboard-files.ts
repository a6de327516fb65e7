import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Where `npm run build` puts the dashboard's pages. */
export const BUILT_PAGES = fileURLToPath(new URL('../../dashboard/dist', import.meta.url))

/** Stands in the built page for the nonce of the response. */
export const NONCE = 'nonce-of-this-response'

const TYPES: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
}

/** Content codings of the built files, the smallest first, with the endings of their names. */
const CODINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const

export interface Asset {
  type: string
  bytes: Buffer
  /** The same bytes in other content codings. */
  coded: Map<string, Buffer>
}

export interface DashboardFiles {
  /** The page that every path under /dashboard shows, with `NONCE` in the place of a nonce. */
  page: string
  assets: Map<string, Asset>
}

/** Reads a build as a whole: a later build does not change what a running server serves. Throws without a build. */
export async function readDashboardFiles(folder: string): Promise<DashboardFiles> {
  const page = await readFile(join(folder, 'index.html'), 'utf8')
  const names = await readdir(join(folder, 'assets'))
  const contents = await Promise.all(names.map((name) => readFile(join(folder, 'assets', name))))
  const bytesOf = new Map(names.map((name, at) => [name, contents[at]!]))
  const assets = new Map<string, Asset>()
  for (const [name, bytes] of bytesOf) {
    const type = TYPES[extname(name)]
    if (type) assets.set(name, { type, bytes, coded: codedForms(name, bytesOf) })
  }
  return { page, assets }
}

function codedForms(name: string, bytesOf: Map<string, Buffer>): Map<string, Buffer> {
  const forms = CODINGS.map(([coding, ending]) => [coding, bytesOf.get(name + ending)] as const)
  return new Map(forms.filter((form): form is [(typeof form)[0], Buffer] => form[1] !== undefined))
}

/** The smallest form of a file that an Accept-Encoding header allows. RFC 9110, section 12.5.3. */
export function chooseForm({ bytes, coded }: Asset, acceptEncoding = ''): { coding?: string; bytes: Buffer } {
  const accepted = new Map(
    acceptEncoding.split(',').map((item) => {
      const [coding = '', ...parameters] = item.split(';').map((part) => part.trim().toLowerCase())
      return [coding, !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter))]
    }),
  )
  for (const [coding, form] of coded) if (accepted.get(coding) ?? accepted.get('*')) return { coding, bytes: form }
  return { bytes }
}
