import { setTimeout as takeTime } from 'node:timers/promises'
import ipaddr from 'ipaddr.js'
import { createBoundedMap } from './bounded-map.ts'
import { widerNetworkOf } from './network.ts'
import { shuffle } from './shuffle.ts'

/**
 * The networks over which servers show something: that they can be reached, that they greet, or what follows. While
 * none shows it, its lack says nothing about one server. Where none happens to be asked at that time, a few that have
 * shown it before are: the witnesses.
 */
export type Reach<Server extends Reachable> = ReturnType<typeof createReach<Server>>

/** The way to a server. */
interface Way {
  ip: string
  sourceAddress?: string
}

export interface Reachable extends Way {
  /** The servers of one party. */
  site: string
}

/** Asks a server for what it has shown before, which it then shows to the same `Reach`. Never rejects. */
export type VisitOf<Server> = (server: Server) => Promise<unknown>

interface UnreachedSite {
  site: string
  atMs: number
  /** Its time is not over. */
  isSilentYet: boolean
}

/** What is known of a way. */
interface WayState {
  /** When the server was asked that has shown it last: it cannot be before. */
  shownMs: number
  /** The sites that lacked it since a server last showed it. */
  unreached: UnreachedSite[]
  /** So did all witnesses that were asked. */
  isWithoutWitness: boolean
  /** Witnesses are being asked. Resolves to whether one of them shows it. */
  round?: PromiseWithResolvers<boolean> & { beganAtMs: number }
}

/** This many sites do not fail at the same time by chance. */
const SITES = 5
/** Some of those that are silent may still answer. */
const MOST_SITES = 20
const WITHIN_MS = 60_000
/** One that shows it is proof, so who lets servers disappear must own all that are asked. */
const WITNESSES = 4
/** A witness is a server of another network: one party has many sites and addresses at little cost. */
const MAX_NETWORKS = 1_000

/**
 * Where the way leads, and to which network. What runs on this machine or in its own network says nothing about the
 * world.
 */
interface Location {
  range: string
  network: string
}

/** Each send asks for the same few again. */
const locations = createBoundedMap<Location>({ maxEntries: 1_000 })

function locate(ip: string): Location {
  const known = locations.get(ip)
  if (known) return known
  const address = ipaddr.process(ip)
  const location = { range: `${address.kind()} ${address.range()}`, network: widerNetworkOf(ip) }
  locations.set(ip, location)
  return location
}

const networkKeyOf = ({ ip, sourceAddress = '' }: Way) => `${sourceAddress} ${locate(ip).range}`

/** @param witnessPauseMs no server is visited again within this time */
export function createReach<Server extends Reachable>(witnessPauseMs: number) {
  const ways = createBoundedMap<WayState>({ maxEntries: 1_000 })
  /** By network: the server of it that showed it last, over whichever of our addresses. */
  const servers = createBoundedMap<{ server: Server; visitedAtMs: number }>({
    maxEntries: MAX_NETWORKS,
    charactersOf: ({ server }) => JSON.stringify(server).length,
  })

  function stateOf(key: string): WayState {
    const state = ways.get(key) ?? { shownMs: -Infinity, unreached: [], isWithoutWitness: false }
    if (!ways.has(key)) ways.set(key, state)
    return state
  }

  function noteUnreached(state: WayState, site: string, isSilentYet: boolean): void {
    const { unreached } = state
    if (unreached.length >= MOST_SITES) return
    const nowMs = performance.now()
    const isKept = ({ atMs }: UnreachedSite) => unreached.length >= SITES || nowMs - atMs < WITHIN_MS
    const others = unreached.filter((each) => each.site !== site && isKept(each))
    state.unreached = [...others, { site, atMs: nowMs, isSilentYet }]
  }

  /** Servers of other networks, and how long none of them may be visited yet. */
  function witnessesFor({ ip, site }: Server) {
    const nowMs = performance.now()
    const { range, network } = locate(ip)
    const others = [...servers.keys()].filter((each) => each !== network).map((each) => servers.get(each)!)
    const known = shuffle(others)
      .filter(({ server }) => locate(server.ip).range === range && server.site !== site)
      .map((each) => ({ each, waitMs: Math.max(0, each.visitedAtMs + witnessPauseMs - nowMs) }))
      .sort((a, b) => a.waitMs - b.waitMs)
    const waitMs = known[0]?.waitMs ?? 0
    const chosen = known.filter((one) => one.waitMs === waitMs).slice(0, WITNESSES)
    return { witnesses: chosen.map(({ each }) => each), waitMs }
  }

  /** One round of visits serves all that ask meanwhile. Undefined where no witness is known. */
  function askWitnesses(state: WayState, server: Server, visit: VisitOf<Server>): Promise<boolean> | undefined {
    if (state.round) return state.round.promise
    const { witnesses, waitMs } = witnessesFor(server)
    if (witnesses.length === 0) return undefined
    const beganAtMs = performance.now()
    const round = { ...Promise.withResolvers<boolean>(), beganAtMs }
    state.round = round
    const visits = witnesses.map(async (witness) => {
      if (waitMs > 0) await takeTime(waitMs)
      if (state.round !== round) return
      witness.visitedAtMs = performance.now()
      await visit({ ...witness.server, sourceAddress: server.sourceAddress })
    })
    void Promise.all(visits).then(() => {
      if (state.round === round) endRound(state, false)
    })
    return round.promise
  }

  function endRound(state: WayState, isShown: boolean): void {
    state.isWithoutWitness = !isShown
    state.round?.resolve(isShown)
    state.round = undefined
  }

  function remember(server: Server): void {
    const { network } = locate(server.ip)
    const visitedAtMs = servers.get(network)?.visitedAtMs ?? -Infinity
    servers.set(network, { server, visitedAtMs })
  }

  const isLackingOn = ({ unreached, isWithoutWitness }: WayState) => isWithoutWitness || unreached.length >= SITES

  /** A machine need not have IPv6, as long as no server was reached over it. */
  const isNeeded = (key: string) => !key.startsWith(' ipv6') || stateOf(key).shownMs > -Infinity

  function isClosed(key: string): boolean {
    const state = stateOf(key)
    return isNeeded(key) && isLackingOn(state) && state.unreached.some(({ isSilentYet }) => !isSilentYet)
  }

  return {
    /** Notes a server that showed it to an earlier process. */
    remember,
    /** Whether all servers lack it on a way that this machine needs. */
    isLacking: () => [...ways.keys()].some(isClosed),
    /** Whether the machine must have this way. */
    isNeeded: (way: Way): boolean => isNeeded(networkKeyOf(way)),
    /** A server has shown it, which was asked at `askedAtMs`. */
    shownBy(server: Server, askedAtMs: number): void {
      const key = networkKeyOf(server)
      const state = stateOf(key)
      state.shownMs = Math.max(state.shownMs, askedAtMs)
      state.unreached = []
      state.isWithoutWitness = false
      if (state.round && state.round.beganAtMs <= askedAtMs) endRound(state, true)
      remember(server)
    },
    /** Counts a site that is silent, before its time is over. Returns what takes that back. */
    noteSilent(site: string, way: Way): () => void {
      const state = stateOf(networkKeyOf(way))
      if (state.unreached.some((each) => each.site === site)) return () => {}
      noteUnreached(state, site, true)
      return () => {
        state.unreached = state.unreached.filter((each) => each.site !== site)
      }
    },
    /** Notes that a server lacks it, where nothing depends on whose fault that is. */
    noteLacking: (server: Server): void => noteUnreached(stateOf(networkKeyOf(server)), server.site, false),
    /** Asks the witnesses for a server that seems to lack it, unless one has shown it since. */
    anticipate(server: Server, sinceMs: number, visit: VisitOf<Server>): void {
      const state = stateOf(networkKeyOf(server))
      if (state.shownMs < sinceMs) void askWitnesses(state, server, visit)
    },
    /**
     * Notes that a server lacks it. Returns whether all lack it on this way, because none has shown it since the server
     * was asked. Where no witness can be asked, enough sites must lack it; what only looks like an answer of the server
     * needs a witness.
     */
    async isCutOff(server: Server, sinceMs: number, visit?: VisitOf<Server>, isAnswered = false): Promise<boolean> {
      const state = stateOf(networkKeyOf(server))
      if (state.shownMs >= sinceMs) return false
      if (!isAnswered) noteUnreached(state, server.site, false)
      const isShown = visit && (await askWitnesses(state, server, visit))
      if (isShown || state.shownMs >= sinceMs) return false
      if (!isAnswered) return isLackingOn(state)
      if (state.isWithoutWitness) noteUnreached(state, server.site, false)
      return state.isWithoutWitness
    },
  }
}
