// Emails to the simulator are counted under their own id, which is derived from that of the account. Statements
// that read the statistics of an account, such as those of the breaker and the warm-up, therefore never find them.

/** UUIDs have their version here. Accounts have version 7. */
const VERSION_AT = 14
const LIVE = '7'
const SIMULATED = '8'

/** The id under which the emails of an account to the simulator are counted. */
export const simulatedId = (accountId: string): string =>
  accountId.slice(0, VERSION_AT) + SIMULATED + accountId.slice(VERSION_AT + 1)

const withVersion = (id: string, version: string) =>
  `overlay(${id}::text placing '${version}' from ${VERSION_AT + 1})::uuid`

/** SQL: `simulatedId`. `id` is SQL, too. */
export const simulatedIdOf = (id: string): string => withVersion(id, SIMULATED)

/** SQL: the account that `id`, of a row of statistics, belongs to. */
export const accountIdOf = (id: string): string => withVersion(id, LIVE)

/** The end of each of the simulator's addresses. */
const SIMULATOR = '@simulator.test'

/** Whether an address belongs to the simulator. */
export const isSimulated = (email: string): boolean => email.endsWith(SIMULATOR)

/** SQL: the same. */
export const isToSimulator = (email: string): string => `${email} like '%${SIMULATOR}'`

/** SQL: the id under which an email of `account` is counted. */
export const countedUnder = (account: string, email: string): string =>
  `case when ${isToSimulator(email)} then ${simulatedIdOf(account)} else ${account} end`
