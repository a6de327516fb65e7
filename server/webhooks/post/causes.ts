/**
 * Why an attempt got no response: a code of Node or of this service. CAUSES has words only for causes that
 * the account owner can mend, and that reveal nothing of our network.
 */
export type CauseCode = keyof typeof CAUSES | (string & {})

interface Cause {
  /** A sentence or two for the account owner. */
  sentence: string
  /** A few words for a list of responses. */
  short: string
}

const PRIVATE_AUTHORITY: Cause = {
  sentence: 'The certificate of the endpoint comes from an authority that is not a public one.',
  short: 'certificate of a private authority',
}

const HANDSHAKE_REFUSED: Cause = {
  sentence:
    'The endpoint refused the TLS handshake. Its log says why: for example, it asks for a client certificate, or has no cipher in common.',
  short: 'TLS handshake refused',
}

const OLD_TLS: Cause = {
  sentence: 'The endpoint has no version of TLS in common with the service, which needs TLS 1.2 or 1.3.',
  short: 'no common version of TLS',
}

const OTHER_NAME: Cause = {
  sentence: 'The certificate of the endpoint is for another host name.',
  short: 'certificate for another name',
}

const NO_TLS: Cause = {
  sentence: 'The port does not speak TLS: the endpoint answered the handshake with something else.',
  short: 'no TLS at this port',
}

export const CAUSES = {
  // Our own codes.
  connect_timeout: {
    sentence: 'No connection was made within 3 s, for the look-up, TCP and TLS together.',
    short: 'no connection in time',
  },
  closed: {
    sentence: 'The endpoint closed the connection without a response.',
    short: 'closed without a response',
  },
  head_too_large: {
    sentence: 'The head of the response is larger than 16 KiB.',
    short: 'head over 16 KiB',
  },
  not_http: {
    sentence: 'The response is not valid HTTP/1.1. Check that the port is that of an HTTP server.',
    short: 'not HTTP',
  },
  tls_response: {
    sentence: 'The port speaks TLS, and the URL begins with http://. Use https://.',
    short: 'TLS at a port for http',
  },
  // A code of undici's: it reads several lengths as one number.
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: {
    sentence: 'The response gives more than one length (Content-Length, Transfer-Encoding), so its end is not known.',
    short: 'more than one length',
  },
  // Codes of Node.
  ECONNREFUSED: {
    sentence: 'The connection was refused: nothing listens at this host and port.',
    short: 'connection refused',
  },
  ECONNRESET: {
    sentence: 'The endpoint, or something in front of it, reset the connection before a response.',
    short: 'connection reset',
  },
  CERT_HAS_EXPIRED: { sentence: 'The certificate of the endpoint has expired.', short: 'certificate has expired' },
  CERT_NOT_YET_VALID: {
    sentence: 'The certificate of the endpoint is not valid yet.',
    short: 'certificate not valid yet',
  },
  DEPTH_ZERO_SELF_SIGNED_CERT: {
    sentence: 'The certificate of the endpoint is signed by itself, not by a public authority.',
    short: 'self-signed certificate',
  },
  SELF_SIGNED_CERT_IN_CHAIN: PRIVATE_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT: PRIVATE_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: PRIVATE_AUTHORITY,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: {
    sentence:
      'The issuer of the certificate is not known: either the endpoint does not send the intermediate certificates of its chain, or they come from an authority that is not a public one.',
    short: 'certificate of an unknown issuer',
  },
  ERR_TLS_CERT_ALTNAME_INVALID: OTHER_NAME,
  ERR_SSL_TLSV1_UNRECOGNIZED_NAME: OTHER_NAME,
  ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NO_TLS,
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: {
    sentence: 'The endpoint asks for a client certificate. The service has none.',
    short: 'client certificate asked for',
  },
  'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE': HANDSHAKE_REFUSED,
  ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE: HANDSHAKE_REFUSED,
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: OLD_TLS,
  ERR_SSL_UNSUPPORTED_PROTOCOL: OLD_TLS,
} as const satisfies Record<string, Cause>

const CAUSE_OF = new Map<string | null | undefined, Cause>(Object.entries(CAUSES))

/** Returns the words of a cause; undefined for a code without words. */
export const causeOf = (code: CauseCode | null | undefined): Cause | undefined => CAUSE_OF.get(code)
