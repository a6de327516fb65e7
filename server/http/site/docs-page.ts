import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance } from 'fastify'

// Nothing from another origin, no inline script. Swagger UI sets styles on its elements and draws with data: images.
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const HEADERS = {
  'content-security-policy': POLICY,
  'cache-control': 'max-age=3600',
}

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Verdict API</title>
<link rel="icon" href="docs/favicon.png">
<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="stylesheet" href="docs/reference.css">
</head>
<body>
<header><strong>Verdict</strong> <a href="guides/">Guides</a> <a href="dashboard">Dashboard</a></header>
<main id="reference"></main>
<script src="docs/swagger-ui.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
`

const FILES: [path: string, type: string, content: string | URL][] = [
  ['/docs', 'text/html; charset=utf-8', PAGE],
  ['/docs/start.js', 'text/javascript; charset=utf-8', new URL('reference/start.js', import.meta.url)],
  ['/docs/reference.css', 'text/css; charset=utf-8', new URL('reference/reference.css', import.meta.url)],
  ['/docs/swagger-ui.js', 'text/javascript; charset=utf-8', asset('swagger-ui-bundle.js')],
  ['/docs/swagger-ui.css', 'text/css; charset=utf-8', asset('swagger-ui.css')],
  ['/docs/favicon.png', 'image/png', asset('favicon-32x32.png')],
]

function asset(name: string): URL {
  return new URL(import.meta.resolve(`swagger-ui-dist/${name}`))
}

/** The reference page at `/docs`, from our own files. */
export function docsPages(fastify: FastifyInstance): void {
  for (const [path, type, content] of FILES) {
    let bytes: Buffer | undefined
    fastify.get(path, async (_, reply) => {
      bytes ??= typeof content === 'string' ? Buffer.from(content) : readFileSync(fileURLToPath(content))
      reply.headers(HEADERS).type(type)
      return bytes
    })
  }
}
