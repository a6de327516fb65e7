import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '../../dev/ports.ts'
import { selfSigned } from './certificates.ts'
import { type Daemon, openFolder, startDaemon } from './daemon.ts'

export interface Nginx extends Daemon {
  /** HTTP/1.1 in the clear. */
  url: string
  /** HTTP/2 in the clear. */
  grpcUrl: string
  /** HTTP/1.1 and HTTP/2 over TLS, as in production. */
  tlsUrl: string
  /** The certificate of `tlsUrl`, PEM. */
  certificate: string
}

interface Listen {
  port: number
  grpcPort: number
  tlsPort: number
}

const HOST = 'mail.verdict.example'

/**
 * Starts a separate nginx in front of API processes on these ports, with the files of deploy/nginx. Beside the port
 * with TLS it listens on two without: before 1.25 nginx cannot serve HTTP/1.1 and HTTP/2 in the clear on one.
 */
export const startNginx = (ports: readonly number[]): Promise<Nginx> => start(upstreams(ports))

/** As `startNginx`, for two cells with one API process each, with the changes that deploy/cells/nginx.conf names. */
export const startCellsNginx = (ports: { a1: number; b2: number }): Promise<Nginx> =>
  start(cells(ports), {
    'proxy_pass http://verdict;': 'proxy_pass http://$verdict;',
    'grpc_pass grpc://verdict_grpc;': 'grpc_pass grpc://$verdict_grpc;',
  })

async function start(upstreams: string, changes: Record<string, string> = {}): Promise<Nginx> {
  const folder = await openFolder('nginx')
  const listen = { port: await freePort(), grpcPort: await freePort(), tlsPort: await freePort() }
  const file = join(folder, 'nginx.conf')
  selfSigned(join(folder, 'tls'), HOST)
  await writeFile(file, configuration(folder, upstreams, server(folder, listen, changes)))
  const daemon = await startDaemon(['nginx', '-p', folder, '-c', file], listen)
  return {
    ...daemon,
    url: `http://127.0.0.1:${listen.port}`,
    grpcUrl: `http://127.0.0.1:${listen.grpcPort}`,
    tlsUrl: `https://127.0.0.1:${listen.tlsPort}`,
    certificate: readFileSync(join(folder, 'tls.pem'), 'utf8'),
  }
}

const configuration = (folder: string, upstreams: string, server: string) => `
daemon off;
user www-data;
worker_processes 1;
pid ${folder}/nginx.pid;
error_log stderr;
events { worker_connections 1024; }
http {
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')}
${upstreams}
${server}
}
`

/** deploy/nginx/upstream.conf with these ports. */
function upstreams(ports: readonly number[]): string {
  const servers = ports.map((port) => `    server 127.0.0.1:${port} max_fails=0;`).join('\n')
  return replaceLines(readFileSync('deploy/nginx/upstream.conf', 'utf8'), {
    'server 127.0.0.1:8080': servers,
    'server 127.0.0.1:8081': '',
  })
}

/** deploy/cells/nginx.conf with these ports. */
function cells({ a1, b2 }: { a1: number; b2: number }): string {
  return replaceLines(readFileSync('deploy/cells/nginx.conf', 'utf8'), {
    'server 127.0.0.1:8080': `server 127.0.0.1:${a1} max_fails=0;`,
    'server 127.0.0.1:8081': '',
    'server 127.0.0.1:9080': `server 127.0.0.1:${b2} max_fails=0;`,
    'server 127.0.0.1:9081': '',
  })
}

/** deploy/nginx/verdict.conf with these addresses and a certificate of the tests. Everything else is as shipped. */
function server(folder: string, { port, grpcPort, tlsPort }: Listen, changes: Record<string, string>): string {
  return replaceLines(readFileSync('deploy/nginx/verdict.conf', 'utf8'), {
    'listen 443 ssl http2;': `listen 127.0.0.1:${tlsPort} ssl http2;`,
    'listen [::]:443 ssl http2;': `listen 127.0.0.1:${port}; listen 127.0.0.1:${grpcPort} http2;`,
    'ssl_certificate ': `ssl_certificate ${folder}/tls.pem;`,
    'ssl_certificate_key ': `ssl_certificate_key ${folder}/tls.key;`,
    ...changes,
  })
}

/** Replaces the lines that begin so. Throws when there is none. */
function replaceLines(text: string, replacements: Record<string, string>): string {
  return Object.entries(replacements).reduce((text, [begin, line]) => {
    const lines = text.split('\n')
    if (!lines.some((other) => other.trimStart().startsWith(begin))) throw new Error(`No line begins with ${begin}`)
    return lines.map((other) => (other.trimStart().startsWith(begin) ? line : other)).join('\n')
  }, text)
}
