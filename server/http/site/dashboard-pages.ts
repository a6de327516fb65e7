import { randomBytes } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { fail } from '../../errors.ts'
import type { Admit } from '../admission.ts'
import { BUILT_PAGES, sendFile } from './built-files.ts'
import { type DashboardFiles, NONCE, readDashboardFiles } from './dashboard-files.ts'

// Nothing from another origin and no inline script. Mantine's style elements carry the nonce; data: images are the
// icons of style sheets; frames show the content of strangers from a path of ours that has its own policy.
const policy = (nonce: string) =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "font-src 'self'",
    "frame-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; ')

const HEADERS = {
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=()',
}

const NOT_BUILT = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Verdict</title>
</head>
<body>
<h1>The dashboard is not built</h1>
<p>Run <code>npm ci &amp;&amp; npm run build</code> in the folder of the server, then load this page again.</p>
</body>
</html>
`

export interface DashboardPagesParts {
  /** Counts a caller who asks for a file that does not exist. */
  visit: Admit
  /** The folder that `npm run build` writes. */
  folder?: string
}

/** The dashboard: one page for every path under /dashboard, and the files that it loads. */
export function dashboardPages(fastify: FastifyInstance, { visit, folder = BUILT_PAGES }: DashboardPagesParts): void {
  let files: DashboardFiles | undefined
  const load = async () => {
    files ??= await readDashboardFiles(folder).catch(() => undefined)
    return files
  }

  const page = async (_: FastifyRequest, reply: FastifyReply) => {
    const built = await load()
    const nonce = randomBytes(16).toString('base64')
    reply
      .headers({ ...HEADERS, 'content-security-policy': policy(nonce), 'cache-control': 'no-cache' })
      .type('text/html; charset=utf-8')
    if (built) return built.page.replaceAll(NONCE, nonce)
    reply.code(503)
    return NOT_BUILT
  }

  fastify.get('/dashboard', page)
  fastify.get('/dashboard/*', page)
  fastify.get<{ Params: { '*': string } }>('/dashboard/assets/*', async (request, reply) => {
    const asset = (await load())?.assets.get(request.params['*'])
    if (!asset) {
      await visit(request.call)
      throw fail('not_found', 'The dashboard has no such file. Load the page again.')
    }
    reply.headers({ ...HEADERS, 'cache-control': 'public, max-age=31536000, immutable' })
    return sendFile(reply, asset, request.headers['accept-encoding'])
  })
}
