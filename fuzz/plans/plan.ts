import fc from 'fast-check'

// A plan: calls of the API at the same time, and the faults that they meet.

/** Statements of a send that a lost connection or a slow one may meet, by a part of their SQL. */
export const STATEMENTS = {
  key: 'join idempotency_keys k on',
  claim: 'insert into open_messages',
  marker: 'set marked_at =',
  record: 'delete from open_messages m using input',
  settle: 'json_to_recordset(m.recipients)',
  release: 'where id = $1 and claim = $2 for update',
} as const

/** Writes that PostgreSQL may refuse: of a claim, of a marker, of whatever ends a send, and of its history. */
export const WRITES = {
  claim: 'insert on open_messages',
  marker: 'update on open_recipients',
  end: 'delete on open_messages',
  history: 'insert on messages',
} as const

const namesOf = <Name extends string>(table: Record<Name, string>) => fc.constantFrom(...(Object.keys(table) as Name[]))
const nth = fc.constantFrom(0, 0, 1, 2, 3)

/** The domain of each recipient. The last one is never mailed. */
export const DOMAINS = ['example.net', 'example.org', 'example.net', 'example.org', 'printer.local']

const letter = fc.record({
  /** The idempotency key; null for a call without one. Letters with one key differ in their content alone. */
  key: fc.option(fc.nat(1)),
  to: fc.uniqueArray(fc.nat(DOMAINS.length - 1), { minLength: 1, maxLength: 3 }),
})
const call = fc.record({
  letter: fc.nat(2),
  atMs: fc.constantFrom(0, 0, 0, 1, 5, 20, 60),
  /** The caller closes its connection after this time. */
  leavesAfterMs: fc.oneof({ weight: 4, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.nat(60) }),
})

const refusal = fc.constantFrom(
  ...['421 4.3.0 later', '450 4.2.1 busy', '451 4.7.1 greylisted', '452 4.2.2 over quota', '550 5.1.1 no such user'],
  ...['550 5.7.1 blocked', '552 5.2.2 over quota', '554 5.7.1 spam', '554 no', '250 2.0.0 ok', '354 go on', 'what?'],
)
const serverFault = fc.record({
  verb: fc.constantFrom('greeting', 'ehlo', 'mail', 'rcpt', 'data', 'content', 'dot', 'dot', 'rset'),
  nth,
  act: fc.oneof(fc.constantFrom('close', 'reset', 'stall', 'slow'), refusal),
})
const lostStatement = fc.record({
  statement: namesOf(STATEMENTS),
  nth,
  act: fc.constantFrom('lost before', 'lost after', 'slow', 'very slow'),
})
const refusedWrite = fc.record({
  write: namesOf(WRITES),
  nth,
  /** A race, a timeout, a full disk, a poisonous row, a server that shuts down. */
  code: fc.constantFrom('40001', '57014', '53100', '22021', '57P01'),
})

export const plans = fc.record({
  letters: fc.array(letter, { minLength: 1, maxLength: 3 }),
  calls: fc.array(call, { minLength: 2, maxLength: 6, size: 'max' }),
  /** The round trip to the mail server. */
  serverDelayMs: fc.constantFrom(0, 0, 3, 10),
  server: fc.array(serverFault, { maxLength: 3, size: 'max' }),
  statements: fc.array(lostStatement, { maxLength: 2, size: 'max' }),
  writes: fc.array(refusedWrite, { maxLength: 2, size: 'max' }),
  /** All leases end at this time, although the process lives. */
  leasesEndMs: fc.option(fc.nat(80), { freq: 2 }),
  sweepsMs: fc.array(fc.nat(100), { maxLength: 2 }),
})
export type Plan = typeof plans extends fc.Arbitrary<infer P> ? P : never
