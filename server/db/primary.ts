import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { DatabaseHost } from '../config/database-url.ts'
import { dialDatabase, type ServerPlace, watch } from './database-sockets.ts'
import { OUTAGE_MS, type Outage } from './outage.ts'

/** What a server of the database says about itself. */
export interface ServerState {
  kind: 'writable' | 'read_only' | 'standby'
  /** Grows with each promotion. 0 when the server does not say it. */
  timeline: number
  /** Its IP address and port. A name can lead to another server later. */
  address: string
}

/** Asks a server for its state. Throws when it does not answer within about two seconds. */
export type Probe = (host: DatabaseHost) => Promise<ServerState>

interface PrimaryParts {
  hosts: DatabaseHost[]
  probe: Probe
  /** See `watch`; 0 for no limit. */
  statementMs: number
}

/** A search that found a server does not wait for longer for the others. */
const OTHERS_MS = 300
const ASK_AGAIN_MS = 250
const SUSPECT_EVERY_MS = 1_000

/** Where the driver would connect. It has at least one host. */
type DriverPlace = { host: [string, ...string[]]; port: [number, ...number[]]; path: string | false }

/**
 * Finds the primary among the servers of DATABASE_URL. All are asked at once whenever a connection is needed and the
 * last one to the primary broke. One server is not asked before it has served: behind its name, another one can take
 * over, and a proxy can accept connections while there is none.
 *
 * A standby is never used. When two servers take writes, the one promoted last is used. A server that was promoted
 * before one seen earlier is never used: an old primary that comes back without knowing of its successor would accept
 * writes that are lost.
 */
export class Primary implements Outage {
  readonly #parts: PrimaryParts
  readonly #sockets = new Set<Socket>()
  #primary: DatabaseHost | undefined
  /** The address of the server that took writes when it was last searched for. */
  #writableAt = ''
  #searching: Promise<DatabaseHost> | undefined
  #suspectedAtMs = Number.NEGATIVE_INFINITY
  #isSuspected = false
  #timeline = 0
  #hasServed = false
  #lostAtMs: number | undefined
  #foundAgainMs = Number.NEGATIVE_INFINITY

  constructor(parts: PrimaryParts) {
    this.#parts = parts
    if (parts.hosts.length === 1) this.#primary = parts.hosts[0]
  }

  /**
   * Opens a socket to the server that takes writes, or to the driver's place when the URL names no server. When the
   * connections have just been lost, it waits for such a server. Never rejects, because postgres.js would lose the
   * connection's place in its pool: the socket fails instead.
   */
  async open({ host: [host], port: [port], path }: DriverPlace): Promise<Socket> {
    const place: ServerPlace = path ? { path } : { host, port }
    try {
      const found = this.#parts.hosts.length === 0 ? undefined : (this.#primary ?? (await this.#findSoon()))
      return this.#keep(dialDatabase(found ?? place), found)
    } catch (error) {
      const socket = dialDatabase(place)
      setImmediate(() => socket.destroy(error as Error))
      return socket
    }
  }

  /** Looks for another primary server. When there is one, the connections to all others end. */
  suspect(): void {
    if (this.#parts.hosts.length === 0 || performance.now() - this.#suspectedAtMs < SUSPECT_EVERY_MS) return
    this.#suspectedAtMs = performance.now()
    this.#isSuspected = true
    // Without another primary the connections stay: they may still read, and a slow server answers in the end.
    this.#search().catch(() => {})
  }

  mayPass(): boolean {
    return this.#lostAtMs === undefined || performance.now() < this.#lostAtMs + OUTAGE_MS
  }

  lastMs(): number {
    return this.#lostAtMs === undefined ? this.#foundAgainMs : Math.min(performance.now(), this.#lostAtMs + OUTAGE_MS)
  }

  async #findSoon(): Promise<DatabaseHost> {
    for (;;) {
      try {
        return await this.#search()
      } catch (error) {
        if (this.#lostAtMs === undefined || !this.mayPass()) throw error
        await sleep(ASK_AGAIN_MS)
      }
    }
  }

  #search(): Promise<DatabaseHost> {
    this.#searching ??= this.#find().finally(() => {
      this.#searching = undefined
    })
    return this.#searching
  }

  async #find(): Promise<DatabaseHost> {
    const { hosts, probe } = this.#parts
    const hasOthers = hosts.length > 1
    const answers = await ask(hosts, probe)
    const isUsable = ({ kind, timeline }: ServerState) =>
      !hasOthers || (kind !== 'standby' && timeline >= this.#timeline)
    const [first] = answers
      .flatMap(({ host, state }) => (state && isUsable(state) ? { host, state } : []))
      .sort((a, b) => b.state.timeline - a.state.timeline || rank(b.state) - rank(a.state))
    if (!first) throw noPrimary(answers)
    const { host, state } = first
    this.#timeline = state.timeline
    this.#primary = host
    if (this.#lostAtMs !== undefined) this.#foundAgainMs = performance.now()
    this.#lostAtMs = undefined
    // Behind one name there may be several proxies with other addresses: only a suspicion ends their connections.
    if (state.kind === 'writable' && (hasOthers || this.#isSuspected)) this.#dropOthers(state.address)
    this.#isSuspected = false
    return host
  }

  #dropOthers(address: string): void {
    this.#writableAt = address
    for (const socket of this.#sockets) {
      // A socket has no address before it is connected.
      if (socket.connecting) socket.once('connect', () => this.#dropUnlessWritable(socket))
      else this.#dropUnlessWritable(socket)
    }
  }

  /** Whether the statements on this connection were executed is unknown. */
  #dropUnlessWritable(socket: Socket): void {
    if (addressOf(socket) !== this.#writableAt) socket.destroy(new MovedError())
  }

  #keep(socket: Socket, host: DatabaseHost | undefined): Socket {
    const { statementMs } = this.#parts
    let isEndedByDriver = true
    this.#sockets.add(socket)
    socket.once('end', () => {
      isEndedByDriver = socket.writableEnded
    })
    socket.once('close', () => {
      this.#sockets.delete(socket)
      this.#hasServed ||= socket.bytesRead > 0
      // The driver ends an idle connection. Anything else may be the end of the server.
      if (this.#primary === host && !(isEndedByDriver && socket.writableEnded)) this.#lose()
    })
    if (statementMs > 0) watch(socket, statementMs, () => this.suspect())
    return socket
  }

  #lose(): void {
    if (this.#parts.hosts.length > 1 || this.#hasServed) this.#primary = undefined
    if (this.#parts.hosts.length > 0 && this.#hasServed) this.#lostAtMs ??= performance.now()
  }
}

const rank = ({ kind }: ServerState) => (kind === 'writable' ? 1 : 0)

/** The same form as `address` of a state. */
export const addressOf = (socket: Socket) => `${socket.remoteAddress} ${socket.remotePort}`

interface Answer {
  host: DatabaseHost
  state?: ServerState
  error?: NodeJS.ErrnoException
}

/**
 * Asks all servers at once. Once one takes writes, the others have little time left. While one is silent, those that
 * take no writes are asked again: it may be dead, and one of them about to be promoted.
 */
async function ask(hosts: DatabaseHost[], probe: Probe): Promise<Answer[]> {
  const answers: Answer[] = hosts.map((host) => ({ host }))
  const isFound = Promise.withResolvers<void>()
  const allHaveAnswered = Promise.withResolvers<void>()
  let isOver = false
  for (const answer of answers) void askUntilAll(answer)
  await Promise.race([allHaveAnswered.promise, isFound.promise.then(() => sleep(OTHERS_MS))])
  isOver = true
  return answers.map((answer) => ({ ...answer }))

  async function askUntilAll(answer: Answer): Promise<void> {
    while (!isOver) {
      Object.assign(answer, await stateOrError(answer.host, probe))
      if (answers.every(({ state, error }) => state || error)) return allHaveAnswered.resolve()
      if (answer.state?.kind === 'writable') return isFound.resolve()
      await sleep(ASK_AGAIN_MS)
    }
  }
}

const stateOrError = (host: DatabaseHost, probe: Probe): Promise<Omit<Answer, 'host'>> =>
  probe(host).then(
    (state) => ({ state, error: undefined }),
    (error) => ({ state: undefined, error }),
  )

class MovedError extends Error {
  code = 'CONNECTION_MOVED'
  constructor() {
    super('another server of DATABASE_URL has become the primary')
  }
}

/** The error has the code of a server that could not be asked, or else that of a read-only server. */
function noPrimary(answers: Answer[]): Error {
  const [first, ...others] = answers
  if (first?.error && others.length === 0) return first.error
  const details = answers.map(({ host: { host, port }, state, error }) => {
    const what = state ? (state.kind === 'standby' ? 'a standby' : 'promoted earlier') : error?.message || error?.code
    return `${host}:${port}: ${what}`
  })
  const code = answers.some(({ state }) => state) ? '25006' : first?.error?.code
  return Object.assign(new Error(`no server takes writes (${details.join('; ')})`), { code })
}
