import { hasPeople } from '../server/access/people/first-person.ts'
import { inviteFirstPerson, linkOf } from '../server/access/people/invitations.ts'
import { createDatabaseClock } from '../server/db/clock.ts'
import { connect } from '../server/db/connect.ts'

/** Creates the link by which the first person sets a password; undefined when there is a person. */
export async function setUpLink(databaseUrl: string, publicUrl: string): Promise<string | undefined> {
  const db = connect(databaseUrl, { connections: 1 })
  const clock = await createDatabaseClock(db)
  try {
    if (await hasPeople(db)) return undefined
    return linkOf(publicUrl, await db.transaction((tx) => inviteFirstPerson(tx, clock)))
  } finally {
    clock.stop()
    await db.$client.end()
  }
}
