import { execFile } from 'node:child_process'
import { randomBytes, randomInt } from 'node:crypto'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

// Machines that a test can kill, freeze and cut off: network namespaces of Linux on one bridge. Needs root.

const exec = promisify(execFile)
const ip = (...args: string[]) => exec('ip', args)

/** Files that programs in a namespace see in place of those in /etc (ip-netns(8)). */
const ETC = '/etc/netns'
/**
 * The rules of cuts, before all others but those for the machine's own addresses, and the table that they lead to. Its
 * gateway has an Ethernet address that no machine has: packets vanish, as on a broken line.
 */
const CUT = '100'
const NOWHERE = '02:00:00:00:00:01'

export interface Machine {
  /** Its host name is `<name>.internal`. */
  name: string
  address: string
  /** The command line that runs another one on this machine. */
  command(command: string[]): string[]
  /** Sends a signal to every process on the machine. */
  signal(signal: NodeJS.Signals): Promise<void>
}

export interface Network {
  machines: Machine[]
  /** The network of the machines and of this process. */
  subnet: string
  /**
   * Loses every packet between a machine and others, in both directions; with `ports`, only those to and from these
   * ports of TCP.
   */
  cut(machine: Machine, others: Machine[], ports?: string[]): Promise<void>
  /** Ends all cuts. */
  heal(): Promise<void>
  /** Kills every process on the machines and removes the machines. */
  remove(): Promise<void>
}

/** Creates machines that reach each other and this process. */
export async function createNetwork(names: string[]): Promise<Network> {
  const id = randomBytes(3).toString('hex')
  const bridge = `vb${id}`
  const prefix = `10.${randomInt(64, 250)}.${randomInt(0, 250)}`
  const subnet = `${prefix}.0/24`
  const addresses = names.map((_, i) => `${prefix}.${i + 11}`)
  const hosts = ['127.0.0.1 localhost', ...names.map((name, i) => `${addresses[i]} ${name}.internal`), ''].join('\n')
  const namespaces = names.map((name) => `verdict-${id}-${name}`)

  await ip('link', 'add', bridge, 'type', 'bridge')
  await ip('addr', 'add', `${prefix}.1/24`, 'dev', bridge)
  await ip('link', 'set', bridge, 'up')
  for (const [i, namespace] of namespaces.entries()) {
    await mkdir(join(ETC, namespace), { recursive: true })
    await writeFile(join(ETC, namespace, 'hosts'), hosts)
    await ip('netns', 'add', namespace)
    const link = `v${id}${i}`
    await ip('link', 'add', link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespace)
    await ip('link', 'set', link, 'master', bridge, 'up')
    await ip('-n', namespace, 'link', 'set', 'lo', 'up')
    await ip('-n', namespace, 'addr', 'add', `${addresses[i]}/24`, 'dev', 'eth0')
    await ip('-n', namespace, 'link', 'set', 'eth0', 'up')
    await ip('-n', namespace, 'neigh', 'add', `${prefix}.250`, 'lladdr', NOWHERE, 'dev', 'eth0')
    await ip('-n', namespace, 'route', 'add', 'default', 'via', `${prefix}.250`, 'table', CUT)
  }

  const machines = names.map((name, i): Machine => {
    const namespace = namespaces[i]!
    return {
      name,
      address: addresses[i]!,
      command: (command) => ['ip', 'netns', 'exec', namespace, ...command],
      signal: (signal) => signalAll(namespace, signal),
    }
  })
  const namespaceOf = ({ name }: Machine) => namespaces[names.indexOf(name)]!

  async function cut(machine: Machine, others: Machine[], ports?: string[]): Promise<void> {
    const selectors = ports ? ports.flatMap((port) => [tcp('dport', port), tcp('sport', port)]) : [[]]
    const pairs = others.flatMap((other) => [
      { from: machine, to: other },
      { from: other, to: machine },
    ])
    for (const { from, to } of pairs) {
      for (const selector of selectors) {
        const rule = ['pref', CUT, 'to', to.address, ...selector, 'lookup', CUT]
        await ip('-n', namespaceOf(from), 'rule', 'add', ...rule)
      }
    }
  }

  async function heal(): Promise<void> {
    for (const namespace of namespaces) {
      // Each call deletes one rule, and fails when none is left.
      while (
        await ip('-n', namespace, 'rule', 'del', 'pref', CUT).then(
          () => true,
          () => false,
        )
      ) {}
    }
  }

  async function remove(): Promise<void> {
    for (const namespace of namespaces) {
      await signalAll(namespace, 'SIGKILL')
      await ip('netns', 'del', namespace)
      await rm(join(ETC, namespace), { recursive: true })
    }
    await ip('link', 'del', bridge)
  }

  return { machines, subnet, cut, heal, remove }
}

const tcp = (which: 'dport' | 'sport', port: string) => ['ipproto', 'tcp', which, port]

async function signalAll(namespace: string, signal: NodeJS.Signals): Promise<void> {
  // A process may start another one meanwhile.
  for (let round = 0; round < 3; round++) {
    const { stdout } = await ip('netns', 'pids', namespace)
    for (const pid of stdout.split('\n').filter(Boolean)) {
      try {
        process.kill(Number(pid), signal)
      } catch {
        // It has ended.
      }
    }
  }
}
