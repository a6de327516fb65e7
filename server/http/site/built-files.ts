import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FastifyReply } from 'fastify'

/** Where `npm run build` puts the pages of the dashboard and of the guides. */
export const BUILT_PAGES = fileURLToPath(new URL('../../../dashboard/dist', import.meta.url))
export const BUILT_GUIDES = fileURLToPath(new URL('../../../docs/dist', import.meta.url))
/** The file among the guides that is the page at `/`. Its links are relative to that. */
export const HOME = 'home/page.html'
/** Where it puts the OpenAPI document. */
export const BUILT_OPENAPI = fileURLToPath(new URL('../../../docs/openapi.json', import.meta.url))

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/plain; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
}
/** Examples in any language are shown, never run. */
const PLAIN = 'text/plain; charset=utf-8'

/** Content codings of the built files, the smallest first, with the endings of their names. */
const CODINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const

export interface BuiltFile {
  type: string
  bytes: Buffer
  /** The same bytes in other content codings. */
  coded: Map<string, Buffer>
}

/**
 * Reads a build as a whole: a later build does not change what a running server serves. The keys are paths within the
 * folder. Throws without a build.
 */
export async function readBuiltFiles(folder: string): Promise<Map<string, BuiltFile>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const nameOf = (path: string) => path.slice(folder.length).replace(/^\//, '')
  const bytesOf = new Map(await Promise.all(paths.map(async (path) => [nameOf(path), await readFile(path)] as const)))
  const files = new Map<string, BuiltFile>()
  for (const [name, bytes] of bytesOf) {
    const isCoded = CODINGS.some(([, ending]) => name.endsWith(ending))
    if (!isCoded) files.set(name, { type: TYPES[extname(name)] ?? PLAIN, bytes, coded: codedForms(name, bytesOf) })
  }
  return files
}

function codedForms(name: string, bytesOf: Map<string, Buffer>): Map<string, Buffer> {
  const forms = CODINGS.map(([coding, ending]) => [coding, bytesOf.get(name + ending)] as const)
  return new Map(forms.filter((form): form is [(typeof form)[0], Buffer] => form[1] !== undefined))
}

/** Sends the smallest form of a file that the caller accepts. */
export function sendFile(reply: FastifyReply, file: BuiltFile, acceptEncoding: string | undefined): Buffer {
  const { coding, bytes } = chooseForm(file, acceptEncoding)
  if (coding) reply.header('content-encoding', coding)
  reply.header('vary', 'accept-encoding').type(file.type)
  return bytes
}

/** The smallest form of a file that an Accept-Encoding header allows. RFC 9110, section 12.5.3. */
function chooseForm({ bytes, coded }: BuiltFile, acceptEncoding = ''): { coding?: string; bytes: Buffer } {
  const accepted = new Map(
    acceptEncoding.split(',').map((item) => {
      const [coding = '', ...parameters] = item.split(';').map((part) => part.trim().toLowerCase())
      return [coding, !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter))]
    }),
  )
  for (const [coding, form] of coded) if (accepted.get(coding) ?? accepted.get('*')) return { coding, bytes: form }
  return { bytes }
}
