import type { DatabaseLoad } from '../db/connect.ts'

// A send counts as company while it may need a statement soon: the rows of such sends wait for each other for a moment
// (db/collector.ts).

export const inCompany = <T>(load: DatabaseLoad, work: () => Promise<T>): Promise<T> => counted(load, 1, work)

/** For the time that a send in company is at a mail server. */
export const awayFromCompany = <T>(load: DatabaseLoad, work: () => Promise<T>): Promise<T> => counted(load, -1, work)

async function counted<T>(load: DatabaseLoad, change: number, work: () => Promise<T>): Promise<T> {
  load.sends += change
  try {
    return await work()
  } finally {
    load.sends -= change
  }
}
