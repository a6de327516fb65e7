import { execFile } from 'node:child_process'
import { chmod, chown, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import postgres from 'postgres'
import { connect } from '../../server/db/connect.ts'
import { applyMigrations } from '../../server/db/migrations.ts'
import { environmentFile } from '../deploy/units.ts'
import { mountSmallDisk } from '../faults/small-disk.ts'
import { pauseFor } from '../harness/waits.ts'
import { type Daemon, eventually, openFolder, startDaemon } from '../real/daemon.ts'
import { AS_POSTGRES, programOf } from '../real/debian-postgres.ts'
import { installRequirements } from '../real/pythons.ts'
import { createNetwork, type Machine, type Network } from './machines.ts'

// Three machines with etcd, Patroni and PostgreSQL, and one with HAProxy: the files of deploy/patroni, run as they are.

const FOLDER = 'deploy/patroni'
const DATABASES = ['db1', 'db2', 'db3']
const PRIMARY_PORT = 5_000
const REST_PORT = 8_008
const DISK_MEGABYTES = 700
const PASSWORD = 'secret-of-verdict'
const TEMPORAL = { user: 'temporal', password: 'secret-of-temporal' }
/** A machine may have to copy the leader, and Patroni looks every five seconds. */
const WHOLE_WITHIN_MS = 150_000
/** Etcd's ports for its clients and its members. */
export const ETCD_PORTS = ['2379-2380']

export interface DatabaseMachine extends Machine {
  disk: { fill(): Promise<void>; free(): Promise<void> }
  /** Whether PostgreSQL on this machine takes writes. False when it does not answer. */
  takesWrites(): Promise<boolean>
  /** What Patroni on this machine logged. */
  log(): string
  /** Lets Patroni check its configuration. Throws with what it says. */
  validate(): Promise<void>
  startEtcd(): Promise<void>
  startPatroni(): Promise<void>
  /** Starts etcd and Patroni after all processes of the machine were killed. */
  startAgain(): Promise<void>
  /** Kills PostgreSQL and leaves the rest of the machine. */
  killPostgres(): Promise<void>
  /** Removes PostgreSQL's files, so that the machine has to copy the leader. */
  loseData(): Promise<void>
}

export interface Cluster {
  network: Network
  databases: DatabaseMachine[]
  /** The database through HAProxy. */
  url: string
  /** The machine with HAProxy. */
  proxy: Machine
  /** PostgreSQL as Temporal reaches it through HAProxy, with a role that may create databases. */
  temporalDatabase: { host: string; port: number; user: string; password: string }
  /** For `startFaultWorld`. */
  database: { url: string; db: ReturnType<typeof connect>; drop(): Promise<void> }
  /** The machine whose PostgreSQL takes writes. Waits for one. */
  leader(): Promise<DatabaseMachine>
  /** Whether another machine than this one takes writes. */
  isPromotedBeside(old: Machine): Promise<boolean>
  /** Waits for that. */
  promotedBeside(old: Machine): Promise<void>
  /** Waits until the cluster has a leader and two standbys that stream. */
  whole(): Promise<void>
  /** Lets another machine lead, as an operator does. */
  switchOver(leader: Machine, candidate?: Machine): Promise<void>
}

/** Installs Patroni into a folder. Returns the folder of its programs. */
export const installPatroni = (folder: string): Promise<string> =>
  installRequirements('deploy/patroni/requirements.txt', folder)

/** Starts the cluster with the tables of the service. */
export async function startCluster(): Promise<Cluster> {
  const folder = await openFolder('patroni')
  const programs = await installPatroni(folder)
  const network = await createNetwork([...DATABASES, 'app'])
  const configuration = await copyOf('patroni.yaml', folder, (text) => text.replaceAll('192.0.2.0/24', network.subnet))
  // The API of the tests runs on this machine.
  const proxy = await copyOf('haproxy.cfg', folder, (text) => text.replaceAll('127.0.0.1:500', '0.0.0.0:500'))
  const disks: Awaited<ReturnType<typeof mountSmallDisk>>[] = []
  const databases: DatabaseMachine[] = []
  const app = network.machines.at(-1)!
  let haproxy: Daemon | undefined

  async function addDatabase(machine: Machine): Promise<DatabaseMachine> {
    const postgresHome = '/var/lib/postgresql'
    const disk = await mountSmallDisk(DISK_MEGABYTES, postgresHome)
    await chmod(disk.folder, 0o755)
    disks.push(disk)
    const data = join(disk.folder, 'data')
    const etcdData = join(folder, `etcd-${machine.name}`)
    const home = join(folder, `home-${machine.name}`)
    const { uid, gid } = await stat(postgresHome)
    for (const path of [etcdData, home]) {
      await mkdir(path, { mode: 0o700 })
      await chown(path, uid, gid)
    }
    const env: Record<string, string> = {
      // Patroni keeps passwords for PostgreSQL's programs there.
      HOME: home,
      ...ofMachine('etcd.env', machine),
      ETCD_DATA_DIR: etcdData,
      ...ofMachine('patroni.env', machine),
      PATRONI_POSTGRESQL_DATA_DIR: data,
      PATRONI_POSTGRESQL_BIN_DIR: dirname(programOf('postgres')),
    }
    const admin = `postgres://postgres:${env.PATRONI_SUPERUSER_PASSWORD}@${machine.address}:5432/postgres`
    let patroni: Daemon | undefined
    const start = (command: string[], port: number) =>
      startDaemon(machine.command(asPostgres(env, command)), { address: machine.address, port })
    const startEtcd = async () => {
      await start(['etcd'], 2_379)
    }
    const startPatroni = async () => {
      patroni = await start([join(programs, 'patroni'), configuration], REST_PORT)
    }
    return {
      ...machine,
      disk,
      takesWrites: () => takesWrites(admin),
      log: () => patroni?.log() ?? '',
      async validate() {
        const check = [join(programs, 'patroni'), '--validate-config', configuration]
        const [command, ...rest] = machine.command(asPostgres(env, check))
        await promisify(execFile)(command!, rest)
      },
      startEtcd,
      startPatroni,
      async startAgain() {
        await startEtcd()
        await startPatroni()
      },
      async killPostgres() {
        process.kill(Number.parseInt(await readFile(join(data, 'postmaster.pid'), 'utf8'), 10), 'SIGKILL')
      },
      loseData: () => rm(data, { recursive: true }),
    }
  }

  async function leader(): Promise<DatabaseMachine> {
    return eventually(async () => {
      const answers = await Promise.all(databases.map((machine) => machine.takesWrites()))
      return databases.find((_, i) => answers[i])
    }, 60_000)
  }

  async function isPromotedBeside(old: Machine): Promise<boolean> {
    const others = databases.filter(({ name }) => name !== old.name)
    const answers = await Promise.all(others.map((machine) => machine.takesWrites()))
    return answers.includes(true)
  }

  async function promotedBeside(old: Machine): Promise<void> {
    await eventually(async () => (await isPromotedBeside(old)) || undefined, 60_000)
  }

  async function whole(): Promise<void> {
    await eventually(async () => {
      const writable = await Promise.all(databases.map((machine) => machine.takesWrites()))
      if (writable.filter(Boolean).length !== 1) return undefined
      const { members = [] } = await clusterState(databases)
      const streaming = members.filter(({ role, state }) => role === 'quorum_standby' && state === 'streaming')
      const leader = members.find(({ role, state }) => role === 'leader' && state === 'running')
      return streaming.length === 2 && leader?.name === databases[writable.indexOf(true)]!.name ? true : undefined
    }, WHOLE_WITHIN_MS)
  }

  async function patronictl(machine: Machine, ...args: string[]): Promise<void> {
    const line = [join(programs, 'patronictl'), '-c', configuration, ...args, '--force']
    const [command, ...rest] = machine.command(asPostgres(ofMachine('patroni.env', machine), line))
    await promisify(execFile)(command!, rest)
  }

  const switchOver = (leader: Machine, candidate?: Machine) => {
    const to = candidate ? ['--candidate', candidate.name] : []
    return patronictl(leader, 'switchover', 'verdict', '--leader', leader.name, ...to)
  }

  async function stop(): Promise<void> {
    await network.remove()
    for (const disk of disks) await disk.unmount()
    await rm(folder, { recursive: true })
  }

  try {
    for (const machine of network.machines.slice(0, -1)) databases.push(await addDatabase(machine))
    await Promise.all(databases.map(({ startEtcd }) => startEtcd()))
    await databases[0]!.validate()
    await Promise.all(databases.map(({ startPatroni }) => startPatroni()))
    const first = await leader()
    await createDatabase(first.address, ofMachine('patroni.env', first).PATRONI_SUPERUSER_PASSWORD!)
    haproxy = await startDaemon(app.command(['haproxy', '-f', proxy]), { address: app.address, port: PRIMARY_PORT })
    const url = `postgres://verdict:${PASSWORD}@${app.address}:${PRIMARY_PORT}/verdict`
    await whole()
    await eventually(
      () =>
        applyMigrations(url).then(
          () => true,
          () => undefined,
        ),
      30_000,
    )
    const db = connect(url)
    const drop = async () => {
      await db.$client.end({ timeout: 1 })
      await stop()
    }
    return {
      network,
      databases,
      url,
      proxy: app,
      temporalDatabase: { host: app.address, port: PRIMARY_PORT, ...TEMPORAL },
      database: { url, db, drop },
      leader,
      isPromotedBeside,
      promotedBeside,
      whole,
      switchOver,
    }
  } catch (error) {
    for (const { name, log } of databases) console.log(name, log().slice(-3_000))
    console.log(haproxy?.log())
    await stop()
    throw error
  }
}

interface ClusterState {
  members?: { name: string; role: string; state: string }[]
}

/** What Patroni says about the cluster, on the first machine that answers. */
async function clusterState(machines: Machine[]): Promise<ClusterState> {
  for (const { address } of machines) {
    const signal = AbortSignal.timeout(1_000)
    const state = await fetch(`http://${address}:${REST_PORT}/cluster`, { signal }).then(
      (response) => response.json() as Promise<ClusterState>,
      () => undefined,
    )
    if (state) return state
  }
  return {}
}

/** Copies a file of deploy/patroni, with changes, to where the users of the servers can read it. */
async function copyOf(name: string, folder: string, change: (text: string) => string): Promise<string> {
  const file = join(folder, name)
  await writeFile(file, change(await readFile(join(FOLDER, name), 'utf8')))
  return file
}

/** The environment file, which is that of db1, for another machine. Lists of all machines stay. */
function ofMachine(file: string, { name }: Machine): Record<string, string> {
  const lists = /,/
  return Object.fromEntries(
    Object.entries(environmentFile(join(FOLDER, file))).map(([key, value]) => [
      key,
      lists.test(value) ? value : value.replaceAll('db1', name),
    ]),
  )
}

/** Each machine has its own folder for the sockets of PostgreSQL. */
const PRIVATE_SOCKETS = 'mount -t tmpfs verdict /run/postgresql && chown postgres: /run/postgresql && exec "$@"'

const asPostgres = (env: Record<string, string>, command: string[]) => [
  'sh',
  '-c',
  PRIVATE_SOCKETS,
  'sh',
  ...AS_POSTGRES,
  'env',
  '-i',
  `PATH=${process.env.PATH}`,
  'HOME=/tmp',
  'LC_ALL=C.UTF-8',
  ...Object.entries(env).map(([key, value]) => `${key}=${value}`),
  ...command,
]

async function takesWrites(url: string): Promise<boolean> {
  const sql = postgres(url, { max: 1, connect_timeout: 1, onnotice: () => {} })
  const isPrimary = sql`select pg_is_in_recovery() as standby`.then(
    ([row]) => row!.standby === false,
    () => false,
  )
  const isLate = pauseFor(1_500).then(() => false)
  return Promise.race([isPrimary, isLate]).finally(() => void sql.end({ timeout: 0 }))
}

async function createDatabase(address: string, password: string): Promise<void> {
  const sql = postgres(`postgres://postgres:${password}@${address}:5432/postgres`, { max: 1 })
  await sql.unsafe(`create role verdict login password '${PASSWORD}'`)
  await sql.unsafe('create database verdict owner verdict')
  await sql.unsafe(`create role ${TEMPORAL.user} login createdb password '${TEMPORAL.password}'`)
  await sql.end()
}
