import { createDial, type Dial, type DialFailure, type DialOptions } from './dial.ts'
import { widerNetworkOf } from './network.ts'
import { createReach, type Reachable } from './reach.ts'
import type { Destination } from './url.ts'

/** A destination that was connected to, which is asked whether it still can be. */
interface Witness extends Reachable {
  destination: Destination
}

interface Visits {
  connectMs: number
  /** No witness is asked again within this time. */
  witnessPauseMs: number
}

/** What a firewall of ours may answer in the name of every destination. */
const ANSWERS: (string | undefined)[] = ['ECONNREFUSED', 'ECONNRESET']

/**
 * As `createDial`, but a destination without a connection, or without TLS, is at fault only while another one has it:
 * a firewall of ours, what reads our traffic, and outdated authorities look like destinations that are all broken.
 */
export function createWitnessedDial(options: DialOptions, { connectMs, witnessPauseMs }: Visits): Dial {
  const dial = createDial(options)
  const shown = { connect: createReach<Witness>(witnessPauseMs), tls: createReach<Witness>(witnessPauseMs) }

  async function dialOnce(destination: Destination, signal: AbortSignal) {
    const askedMs = performance.now()
    const dialled = await dial(destination, signal)
    const { kind, ip = '' } = dialled
    const server = { ip, site: widerNetworkOf(ip), destination }
    const isConnected = kind === 'dialled' || kind === 'tls'
    if (isConnected) shown.connect.shownBy(server, askedMs)
    if (kind === 'dialled' && destination.protocol === 'https:') shown.tls.shownBy(server, askedMs)
    return { dialled, server, askedMs }
  }

  async function visit({ destination }: Witness) {
    const { dialled } = await dialOnce(destination, AbortSignal.timeout(connectMs))
    if (dialled.kind === 'dialled') dialled.socket.destroy()
  }

  return async (destination, signal) => {
    const { dialled, server, askedMs } = await dialOnce(destination, signal)
    if (!mayBeOurs(dialled) || !shown.connect.isNeeded(server)) return dialled
    const isAnswered = ANSWERS.includes(dialled.code)
    const isCutOff = await shown[dialled.kind].isCutOff(server, askedMs, visit, isAnswered)
    return isCutOff ? { ...dialled, kind: 'local' } : dialled
  }
}

function mayBeOurs(dialled: { kind: string }): dialled is DialFailure & { kind: 'connect' | 'tls' } {
  return dialled.kind === 'connect' || dialled.kind === 'tls'
}
