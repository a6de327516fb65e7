import { readFile, writeFile } from 'node:fs/promises'

/** The memory and processor time of a process. Works on Linux only. */
export async function usageOf(pid: number): Promise<{ residentBytes: number; peakBytes: number; cpuMs: number }> {
  const [status, stat] = await Promise.all([
    readFile(`/proc/${pid}/status`, 'utf8'),
    readFile(`/proc/${pid}/stat`, 'utf8'),
  ])
  const kilobytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)![1]) * 1024
  // After the name, which may hold spaces: utime and stime are the 14th and 15th field, in ticks of 10 ms.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const cpuMs = (Number(fields[11]) + Number(fields[12])) * 10
  return { residentBytes: kilobytes('VmRSS'), peakBytes: kilobytes('VmHWM'), cpuMs }
}

/** Resets `peakBytes` to the current use (proc_pid_clear_refs(5)). Works on Linux only. */
export const forgetPeak = (pid: number) => writeFile(`/proc/${pid}/clear_refs`, '5')
