/** How a value of an enumeration is shown; a value of a later version like one that is not specified. */
export const shownIn = <Shown>(table: Record<0, Shown> & Partial<Record<number, Shown>>, value: number): Shown =>
  table[value] ?? table[0]
