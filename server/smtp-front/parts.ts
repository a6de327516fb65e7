import type { Address } from '../../mail/address.ts'
import type { ClientLimits } from './clients.ts'
import type { DotReply } from './dot-reply.ts'
import type { Way } from './received.ts'
import type { FrontShares } from './shares.ts'

export interface FrontParts {
  host: string
  /** 0 chooses a free port. */
  port: number
  /** The name in the greeting. */
  name: string
  /** In PEM. Without it, keys are only taken on loopback. */
  tls?: { cert: string; key: string }
  /** TLS begins with the connection, and not by STARTTLS. */
  implicitTls: boolean
  /** LMTP (RFC 2033), for mail servers: each recipient has its own reply after the final dot. */
  isLmtp?: boolean
  /** The most recipients of a transaction. */
  maxRecipients: number
  /** What all listeners together may take; by default a listener has its own. */
  shares?: FrontShares
  /** Returns the account of a key, or the reply that refuses it. */
  logIn(login: { key: string; remoteAddress: string }): Promise<{ accountId: string } | DotReply>
  /** Counts a message, at its DATA; returns the reply that refuses it. */
  begin(login: { key: string; remoteAddress: string }): Promise<DotReply | undefined>
  /** Returns the reply to the final dot, or with LMTP one for each recipient; undefined when there is no honest one. */
  deliver(mail: FrontMail): Promise<DotReply[] | undefined>
  limits?: Partial<FrontLimits>
}

export interface FrontMail extends Way {
  /** The key is checked again for each message. */
  key: string
  remoteAddress: string
  sender: Address
  /** In the order of RCPT. One may be there twice. */
  recipients: Address[]
  content: Buffer
  /** Aborts when the client closes the connection, or its sending side, before its reply. */
  left: AbortSignal
  /** Resolves when a client that has closed its sending side has read the reply all the same. */
  hasRead: Promise<void>
}

export interface FrontLimits extends ClientLimits {
  idleMs: number
  /** The time for the handshake where TLS begins with the connection. */
  handshakeMs: number
  /** The time for the content of a message. */
  contentMs: number
  messageBytes: number
  /** The most memory that all messages take while they arrive and are sent; those of an account take half of it. */
  bytesHeld: number
}

export const FRONT_LIMITS: FrontLimits = {
  connections: 1_000,
  strangersPerNetwork: 100,
  connectionsPerAccount: 200,
  loginMs: 30_000,
  authMs: 10_000,
  wrongKeys: 3,
  idleMs: 300_000,
  handshakeMs: 10_000,
  contentMs: 120_000,
  messageBytes: 15 * 2 ** 20,
  bytesHeld: 256 * 2 ** 20,
}

export const SHUTTING_DOWN = '4.3.2 This server is shutting down. Nothing was sent; it is safe to retry'
