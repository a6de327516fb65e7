/** Milliseconds of the machine's monotonic clock. All processes of the machine share it. */
export const machineMs = () => Number(process.hrtime.bigint()) / 1e6
