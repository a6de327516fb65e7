import { readFile } from 'node:fs/promises'
import { answer, JSON_TYPE } from './answer.ts'
import { docsPages, OPENAPI_FILE, OPENAPI_PATH } from './docs-page.ts'
import type { Admit, Handler, Path } from './paths.ts'
import type { SharedReadiness } from './readiness.ts'

export interface SiteParts {
  readiness: SharedReadiness
  /** Shown by `/healthz`. */
  about: { version: string; region: string }
  /** Counts a caller, with a key or without. */
  visit: Admit
  /** Where callers reach this server: the base of the paths in the OpenAPI document. Asked once it listens. */
  publicUrl(): string
}

/** What is served beside the contract, without a key. */
export async function sitePaths({ readiness, about, visit, publicUrl }: SiteParts): Promise<Path[]> {
  const document = JSON.parse(await readFile(OPENAPI_FILE, 'utf8'))
  let served: string | undefined
  const health = JSON.stringify({ status: 'ok', ...about })
  return [
    get(
      OPENAPI_PATH,
      async (call) => {
        served ??= JSON.stringify({ ...document, servers: [{ url: publicUrl(), description: 'This server' }] })
        answer(call, 200, JSON_TYPE, served)
      },
      visit,
    ),
    get('/healthz', async (call) => answer(call, 200, JSON_TYPE, health)),
    get('/readyz', async (call) => {
      const state = await readiness.read()
      answer(call, state.status === 'ready' ? 200 : 503, JSON_TYPE, JSON.stringify(state))
    }),
    get('/', async (call) => answer(call, 302, 'text/plain; charset=utf-8', 'See /docs.\n', { location: 'docs' })),
    ...docsPages().map(({ path, handler }) => get(path, handler)),
  ]
}

function get(path: string, handler: Handler, admit?: Admit): Path {
  return { path, verbs: { GET: { handler, admit } } }
}
