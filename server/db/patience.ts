const MOST = 64

/**
 * Says whether a row should wait for others. After a wait in vain the next two rows do not wait, then four, and so on
 * up to 64. So a caller whose company is busy elsewhere, such as with a slow mail server, is not slowed down.
 */
export function createPatience() {
  let inVain = 1
  let rowsWithout = 0
  const metOthers = () => {
    inVain = 1
    rowsWithout = 0
  }
  return {
    /** Asked once for each row that could wait. */
    lasts: (): boolean => rowsWithout-- <= 0,
    metOthers,
    /** A wait has ended, with this many rows. */
    waited(rows: number): void {
      if (rows > 1) metOthers()
      if (rows !== 1) return
      inVain = Math.min(inVain * 2, MOST)
      rowsWithout = inVain
    },
  }
}
