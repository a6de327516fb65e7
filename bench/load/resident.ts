import { readFileSync } from 'node:fs'

/** The memory of a process in MB (10^6 octets): with the pages that it shares, and with only its share of them. */
export function residentOf(pid: number): { residentMb: number; ownMb: number } {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
  const megabytes = (name: string) => {
    const [, kilobytes] = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(rollup)!
    return (Number(kilobytes) * 1024) / 1e6
  }
  return { residentMb: megabytes('Rss'), ownMb: megabytes('Pss') }
}
