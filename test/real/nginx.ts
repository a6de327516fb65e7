import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Daemon, freePort, openFolder, startDaemon } from './daemon.ts'

export interface Nginx extends Daemon {
  url: string
}

/** Starts a separate nginx in front of API processes on these ports, configured as in docs/going-live.md. */
export async function startNginx(ports: readonly number[]): Promise<Nginx> {
  const folder = await openFolder('nginx')
  const port = await freePort()
  const file = join(folder, 'nginx.conf')
  await writeFile(file, configuration(folder, port, ports))
  const daemon = await startDaemon(['nginx', '-p', folder, '-c', file], { port })
  const stop = async () => {
    await daemon.stop()
    await rm(folder, { recursive: true })
  }
  return { ...daemon, url: `http://127.0.0.1:${port}`, stop }
}

const configuration = (folder: string, port: number, ports: readonly number[]) => `
daemon off;
user www-data;
worker_processes 1;
pid ${folder}/nginx.pid;
error_log stderr;
events { worker_connections 1024; }
http {
  access_log off;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')}
  upstream verdict {
${ports.map((upstream) => `    server 127.0.0.1:${upstream} max_fails=0;`).join('\n')}
    keepalive 32;
  }
  server {
    listen 127.0.0.1:${port};
    client_max_body_size 16m;
    keepalive_requests 1000000;
    keepalive_timeout 1h;
    location / {
      proxy_pass http://verdict;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $host;
      proxy_set_header X-Forwarded-For $remote_addr;
      proxy_read_timeout 130s;
    }
  }
}
`
