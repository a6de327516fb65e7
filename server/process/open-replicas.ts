import { readReplicaUrls } from '../config/database-url.ts'
import { connect } from '../db/connect.ts'
import { READ_MS, type Replica, type Replicas, watchReplicas } from '../db/replicas.ts'
import { watchReplicaStates } from '../telemetry/watch-parts.ts'
import type { Program } from './program.ts'

/** The most connections of a process to each replica. */
const CONNECTIONS = 5

const SEEN: Record<Exclude<Replica['state'], 'ok'>, string> = {
  behind: 'a replica is too far behind: it serves no reads until it follows again',
  away: 'a replica cannot be read: it serves no reads until it can',
  other_database: 'a replica is no copy of the database in DATABASE_URL: it serves no reads',
}

/** Opens the replicas of DATABASE_READ_URL; undefined when it is not set. */
export async function openReplicas({ config, db, log, metrics, ends }: Program): Promise<Replicas | undefined> {
  if (config.databaseReadUrl === undefined) return undefined
  const opened = readReplicaUrls(config.databaseReadUrl).map(({ host, url }) => ({
    host,
    db: connect(url, { connections: CONNECTIONS, statementMs: READ_MS }),
  }))
  ends.defer(async () => {
    await Promise.all(opened.map((replica) => replica.db.$client.end({ timeout: 1 })))
  })
  const replicas = await watchReplicas({
    primary: db,
    replicas: opened,
    onChange({ host, state, lagMs }) {
      const fields = { replica: `${host.host}:${host.port}`, lag_ms: lagMs }
      if (state === 'ok') log.info(fields, 'a replica serves reads')
      else log.warn(fields, SEEN[state])
    },
    onRead: (server) => metrics.historyReads.add({ server }),
  })
  ends.defer(() => replicas.stop())
  watchReplicaStates(metrics, replicas)
  return replicas
}
