/** The domain whose addresses have the outcome of their name (RFC 6761 6.2). */
export const DOMAIN = 'simulator.test'
/** The name of its mail server. */
export const HOST = `mx.${DOMAIN}`
