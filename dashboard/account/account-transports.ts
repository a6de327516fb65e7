import type { Transport } from '@connectrpc/connect'
import { createContext } from 'react'

/** The transport of each account: see transport.ts. */
export const AccountTransports = createContext<(accountId: string) => Transport>(() => {
  throw new Error('there are no transports')
})
