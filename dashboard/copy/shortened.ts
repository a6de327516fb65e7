/** `msg_01jd…8k2f`: the prefix with the first characters, and the last four. */
export function shortened(id: string): string {
  const start = id.indexOf('_') + 5
  return id.length <= start + 6 ? id : `${id.slice(0, start)}…${id.slice(-4)}`
}
