import { join } from 'node:path'
import { databaseFailure } from '../cli/database.ts'
import { encryptionKeys } from '../server/config/values.ts'
import { createDatabaseClock } from '../server/db/clock.ts'
import { connect } from '../server/db/connect.ts'
import { createSealer } from '../server/db/encryption.ts'
import { publicId } from '../server/db/ids.ts'
import { makePartitions } from '../server/db/partitions.ts'
import { countWarmUp, createDemoAccount, DEMO, type DemoParts, dateBack, removeDemoAccounts } from './demo/account.ts'
import { RECIPIENT_DOMAINS } from './demo/mailboxes.ts'
import { inThePast } from './demo/past.ts'
import { createRandom } from './demo/random.ts'
import { storeWeek } from './demo/store.ts'
import { planWeek } from './demo/week.ts'
import { readIfThere } from './private-file.ts'
import { Problem } from './problem.ts'
import { readSettings } from './settings.ts'

// `npm run demo` fills its own account with the week of an invented shop, in the database of the running
// `npm start`. `npm run demo -- --remove` removes it.

const SEED = 20_261
const STATEMENT_MS = 60_000
const DAYS = 8

try {
  await demo(process.argv.slice(2))
} catch (error) {
  const failure = error instanceof Problem ? error : databaseFailure(error)
  console.error(failure ? failure.message : error)
  process.exitCode = 1
}

async function demo(args: string[]): Promise<void> {
  const isRemoval = args.length === 1 && args[0] === '--remove'
  if (args.length > 0 && !isRemoval)
    throw new Problem(`Unknown argument: ${args.join(' ')}. The only argument is --remove.`)
  const { databaseUrl, keys, url } = await runningInstance()
  const db = connect(databaseUrl, { connections: 2, statementMs: STATEMENT_MS })
  const clock = await createDatabaseClock(db)
  const parts = { db, clock, sealer: createSealer(encryptionKeys(keys)) }
  try {
    const removed = await removeDemoAccounts(db)
    if (isRemoval) console.log(removed > 0 ? `The account "${DEMO}" is removed.` : `There is no account "${DEMO}".`)
    else await fill(parts, databaseUrl, url)
  } finally {
    clock.stop()
    await db.$client.end()
  }
}

async function fill(parts: DemoParts, databaseUrl: string, url: string): Promise<void> {
  const { db, clock } = parts
  const startedMs = performance.now()
  await makePartitions(db, undefined, DAYS)
  const nowMs = Math.floor(clock.now())
  const random = createRandom(SEED)
  const emails = planWeek(random, nowMs)
  const { accountId, people } = await createDemoAccount(parts)
  let stored = { messages: 0, events: 0, attempts: 0 }
  await inThePast(databaseUrl, async (sql) => {
    stored = await storeWeek(sql, random, emails, { accountId, nowMs })
  })
  await dateBack(parts, accountId)
  await countWarmUp(parts, accountId, emails)
  const seconds = (performance.now() - startedMs) / 1_000
  const { messages, events, attempts } = stored
  console.log(`The account "${DEMO}" has the week of an invented shop, made in ${seconds.toFixed(0)} s:
  ${messages} messages to ${RECIPIENT_DOMAINS.length} recipient domains, ${events} events and ${attempts} webhook attempts. Nothing was sent.

  See it      ${url}/dashboard/${publicId('acc', accountId)}
  Remove it   npm run demo -- --remove
`)
  if (people === 0)
    console.log('Set up your sign-in first, with the link that npm start printed: it opens this account, too.')
}

/** The database, keys and URL of the `npm start` that runs here. Throws a Problem when there is none. */
async function runningInstance() {
  const { config, given } = readSettings('npm run demo')
  const read = async (name: string) => (await readIfThere(join(config.dataDir, name)))?.trim()
  const [database, instance] = (await Promise.all([read('database.json'), read('instance.json')])).map((text) =>
    text === undefined ? undefined : (JSON.parse(text) as { url: string }).url,
  )
  const keys = given.encryptionKeys ?? (await read('encryption.keys'))
  if (!database || !instance || !keys) {
    throw new Problem(
      `npm run demo fills the database of npm start, and ${config.dataDir} has none. Run npm start first.`,
    )
  }
  if (given.databaseUrl !== undefined && given.databaseUrl !== database) {
    throw new Problem(
      'npm run demo fills the database of npm start, and DATABASE_URL names another one. Remove DATABASE_URL.',
    )
  }
  const isRunning = await fetch(`${instance}/healthz`).then(
    ({ ok }) => ok,
    () => false,
  )
  if (!isRunning) throw new Problem(`npm start does not run here: ${instance} does not respond. Run npm start first.`)
  return { databaseUrl: database, keys, url: instance }
}
