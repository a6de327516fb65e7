/** Milliseconds of the machine's monotonic clock, which is the same in all its processes. */
export const machineMs = () => Number(process.hrtime.bigint()) / 1e6
