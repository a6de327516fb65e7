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

export interface PrimaryParts {
  hosts: DatabaseHost[]
  probe: Probe
  /** See `watch`; 0 for no limit. */
  statementMs: number
}

export interface Primary extends Outage {
  /**
   * Opens a socket to the server that takes writes, or to the driver's place when the URL names no server. When the
   * connections have just been lost, it waits for such a server. Never rejects, because postgres.js would lose the
   * connection's place in its pool: the socket fails instead.
   */
  open(driver: { host: string[]; port: number[]; path: string | false }): Promise<Socket>
  /** Looks for another primary server. When there is one, the connections to all others end. */
  suspect(): void
}

/** A search that found a server does not wait for longer for the others. */
const OTHERS_MS = 300
const ASK_AGAIN_MS = 250
const SUSPECT_EVERY_MS = 1_000

/**
 * Finds the primary among the servers of DATABASE_URL. All are asked at once whenever a connection is needed and the
 * last one to the primary broke. One server is not asked before it has served: behind its name, another one can take
 * over, and a proxy can accept connections while there is none.
 *
 * A standby is never used. When two servers take writes, the one promoted last is used. A server that was promoted
 * before one seen earlier is never used: an old primary that comes back without knowing of its successor would accept
 * writes that are lost.
 */
export function createPrimary({ hosts, probe, statementMs }: PrimaryParts): Primary {
  const sockets = new Set<Socket>()
  let primary = hosts.length === 1 ? hosts[0] : undefined
  /** The address of the server that took writes when it was last searched for. */
  let writableAt = ''
  let searching: Promise<DatabaseHost> | undefined
  let suspectedAtMs = Number.NEGATIVE_INFINITY
  let isSuspected = false
  let timeline = 0
  let hasServed = false
  let lostAtMs: number | undefined
  let foundAgainMs = Number.NEGATIVE_INFINITY

  function search(): Promise<DatabaseHost> {
    searching ??= find().finally(() => {
      searching = undefined
    })
    return searching
  }

  async function find(): Promise<DatabaseHost> {
    const answers = await ask(hosts, probe)
    const isUsable = ({ kind, timeline: own }: ServerState) =>
      hosts.length === 1 || (kind !== 'standby' && own >= timeline)
    const [first] = answers
      .flatMap(({ host, state }) => (state && isUsable(state) ? { host, state } : []))
      .sort((a, b) => b.state.timeline - a.state.timeline || rank(b.state) - rank(a.state))
    if (!first) throw noPrimary(answers)
    const { host, state } = first
    timeline = state.timeline
    primary = host
    if (lostAtMs !== undefined) foundAgainMs = performance.now()
    lostAtMs = undefined
    // Behind one name there may be several proxies with other addresses: only a suspicion ends their connections.
    if (state.kind === 'writable' && (hosts.length > 1 || isSuspected)) dropOthers(state.address)
    isSuspected = false
    return host
  }

  function dropOthers(address: string): void {
    writableAt = address
    for (const socket of sockets) {
      // A socket has no address before it is connected.
      if (socket.connecting) socket.once('connect', () => dropUnlessWritable(socket))
      else dropUnlessWritable(socket)
    }
  }

  /** Whether the statements on this connection were executed is unknown. */
  function dropUnlessWritable(socket: Socket): void {
    if (addressOf(socket) !== writableAt) socket.destroy(new MovedError())
  }

  function keep(socket: Socket, host: DatabaseHost | undefined): Socket {
    let isEndedByDriver = true
    sockets.add(socket)
    socket.once('end', () => {
      isEndedByDriver = socket.writableEnded
    })
    socket.once('close', () => {
      sockets.delete(socket)
      hasServed ||= socket.bytesRead > 0
      // The driver ends an idle connection. Anything else may be the end of the server.
      if (primary === host && !(isEndedByDriver && socket.writableEnded)) lose()
    })
    if (statementMs > 0) watch(socket, statementMs, suspect)
    return socket
  }

  function lose(): void {
    if (hosts.length > 1 || hasServed) primary = undefined
    if (hosts.length > 0 && hasServed) lostAtMs ??= performance.now()
  }

  const mayPass = () => lostAtMs === undefined || performance.now() < lostAtMs + OUTAGE_MS
  const lastMs = () => (lostAtMs === undefined ? foundAgainMs : Math.min(performance.now(), lostAtMs + OUTAGE_MS))

  async function findSoon(): Promise<DatabaseHost> {
    for (;;) {
      try {
        return await search()
      } catch (error) {
        if (lostAtMs === undefined || !mayPass()) throw error
        await sleep(ASK_AGAIN_MS)
      }
    }
  }

  function suspect(): void {
    if (hosts.length === 0 || performance.now() - suspectedAtMs < SUSPECT_EVERY_MS) return
    suspectedAtMs = performance.now()
    isSuspected = true
    // Without another primary the connections stay: they may still read, and a slow server answers in the end.
    search().catch(() => {})
  }

  return {
    async open({ host, port, path }) {
      const place: ServerPlace = path ? { path } : { host: host[0]!, port: port[0]! }
      try {
        const found = hosts.length === 0 ? undefined : (primary ?? (await findSoon()))
        return keep(dialDatabase(found ?? place), found)
      } catch (error) {
        const socket = dialDatabase(place)
        setImmediate(() => socket.destroy(error as Error))
        return socket
      }
    },
    suspect,
    mayPass,
    lastMs,
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
