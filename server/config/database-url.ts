import { isIP } from 'node:net'

/** A server in DATABASE_URL. */
export interface DatabaseHost {
  /** A name, or an address without brackets. */
  host: string
  port: number
}

export interface DatabaseUrl {
  /** The servers in their order; none when the URL leaves the server to the driver. */
  hosts: DatabaseHost[]
  /** The URL with its first server alone, without `target_session_attrs`. */
  url: string
  /** Whether a pooler gives each transaction another session: `prepare=false`, which the driver reads too. */
  isPooled: boolean
}

const PARTS = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#@]*)((?:[/?#].*)?)$/s
const PORT = 5_432

/**
 * Reads a URL of PostgreSQL, which may name several servers: `postgres://user:password@a:5432,b:5432/name` (libpq,
 * 32.1.1.2). Throws an Error that says what the URL must be.
 */
export function readDatabaseUrl(text: string): DatabaseUrl {
  const servers = serversOf(text)
  const hosts = servers.map(({ host }) => host)
  const names = hosts.map(({ host, port }) => `${host} ${port}`)
  const twice = names.findIndex((name, i) => names.indexOf(name) !== i)
  if (twice >= 0) throw new Error(`must name each server once: server ${twice + 1} is named before`)
  const single = servers[0]?.url ?? text
  if (!URL.canParse(single)) throw new Error('must be a postgres:// URL')
  return { hosts, url: withoutTarget(single), isPooled: isPooled(single) }
}

/** Reads a URL of replicas, and returns one URL for each. Throws an Error that says what the URL must be. */
export function readReplicaUrls(text: string): { host: DatabaseHost; url: string }[] {
  if (readDatabaseUrl(text).hosts.length === 0) throw new Error('must name a server')
  if (text.includes('target_session_attrs=')) throw new Error('must not have target_session_attrs')
  return serversOf(text)
}

/** The servers of a URL, each with the URL that names it alone. */
function serversOf(text: string): { host: DatabaseHost; url: string }[] {
  const [, before, places = '', after] = PARTS.exec(text) ?? []
  if (before === undefined) throw new Error('must be a postgres:// URL')
  if (places === '') return []
  return places.split(',').map((place, i) => ({ host: hostAt(place, i + 1), url: `${before}${place}${after}` }))
}

function isPooled(url: string): boolean {
  const prepare = new URL(url).searchParams.get('prepare')
  if (prepare !== null && prepare !== 'false') throw new Error('must have prepare=false, or leave it out')
  return prepare === 'false'
}

function hostAt(place: string, number: number): DatabaseHost {
  const [, address, name = '', digits = String(PORT)] = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(place) ?? []
  const port = Number(digits)
  const host = address ?? name
  const isHost = address === undefined ? host !== '' : isIP(address) === 6
  if (isHost && port >= 1 && port <= 65_535) return { host, port }
  throw new Error(`must have a host name or an address, and a port from 1 to 65535 if any, for server ${number}`)
}

/** The product finds the server that takes writes by itself: the driver would accept a standby. */
function withoutTarget(text: string): string {
  const target = /([?&])target_session_attrs=([^&#]*)(&?)/.exec(text)
  if (!target) return text
  const [parameter, start = '', value, end] = target
  if (value !== 'read-write' && value !== 'primary')
    throw new Error('must have target_session_attrs=read-write, or leave it out: the service always writes')
  return text.replace(parameter, end === '' ? '' : start)
}
