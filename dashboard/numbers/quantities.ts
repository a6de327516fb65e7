const UNITS = [
  ['MiB', 2 ** 20],
  ['KiB', 2 ** 10],
] as const

/** `15 MiB`, `1.5 KiB`, `300 bytes`. */
export function sizeOf(bytes: number): string {
  const unit = UNITS.find(([, size]) => bytes >= size)
  return unit ? `${Number((bytes / unit[1]).toFixed(1))} ${unit[0]}` : `${bytes} bytes`
}

/** `1,000`. */
export const countOf = (count: number) => count.toLocaleString('en')

/** A share in per cent: `98.5 %`. Below one per cent it has two digits. */
export function percentOf(share: number): string {
  const percent = share * 100
  return `${Number(percent.toFixed(percent < 1 ? 2 : 1))} %`
}
