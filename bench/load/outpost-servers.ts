import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../dev/ports.ts'
import { startServer } from './server.ts'
import { untilListening } from './until-listening.ts'

/** A cold start of Erlang is slow. */
const RABBIT_STARTS_WITHIN_MS = 60_000

export interface Server {
  port: number
  pid: number
}

/** Starts a Redis that writes its log once a second, as Outpost's makers run it. */
export async function startRedis(dir: string, parts: AsyncDisposableStack): Promise<Server> {
  mkdirSync(dir)
  const port = await freePort()
  const settings = { bind: '127.0.0.1', port, dir, appendonly: 'yes', appendfsync: 'everysec', save: '' }
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)])
  const { pid } = parts.use(await startServer('redis-server', args, { dir }))
  await untilListening(port)
  return { port, pid }
}

/** Starts RabbitMQ with its own port mapper. Otherwise it would share one that is not ours and that outlives us. */
export async function startRabbit(dir: string, parts: AsyncDisposableStack): Promise<Server> {
  mkdirSync(dir)
  const [port, distributionPort, mapperPort] = [await freePort(), await freePort(), await freePort()]
  parts.use(await startServer('epmd', ['-address', '127.0.0.1', '-port', String(mapperPort)], { dir }))
  await untilListening(mapperPort)
  writeFileSync(join(dir, 'rabbitmq.conf'), `listeners.tcp.1 = 127.0.0.1:${port}\nlog.console = false\n`)
  writeFileSync(join(dir, 'advanced.config'), '[{kernel,[{inet_dist_use_interface,{127,0,0,1}}]}].')
  writeFileSync(join(dir, 'plugins'), '[].')
  const env = {
    HOME: dir,
    RABBITMQ_NODENAME: 'bench@localhost',
    RABBITMQ_DIST_PORT: String(distributionPort),
    ERL_EPMD_ADDRESS: '127.0.0.1',
    ERL_EPMD_PORT: String(mapperPort),
    RABBITMQ_MNESIA_BASE: join(dir, 'db'),
    RABBITMQ_LOG_BASE: join(dir, 'log'),
    RABBITMQ_PID_FILE: join(dir, 'pid'),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(dir, 'plugins'),
    RABBITMQ_CONFIG_FILE: join(dir, 'rabbitmq.conf'),
    RABBITMQ_ADVANCED_CONFIG_FILE: join(dir, 'advanced.config'),
    // One process instead of a shell that waits for one.
    RABBITMQ_ALLOW_INPUT: '1',
  }
  // Debian's command would run it as another user, which may not read this folder.
  const { pid } = parts.use(await startServer('/usr/lib/rabbitmq/bin/rabbitmq-server', [], { dir, env }))
  await untilListening(port, RABBIT_STARTS_WITHIN_MS)
  return { port, pid }
}
