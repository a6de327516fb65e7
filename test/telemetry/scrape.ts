/** A scraped series: its name, its labels and its value. */
export interface Series {
  name: string
  labels: Record<string, string>
  value: number
}

/** Reads Prometheus' text format. */
export function parseScrape(text: string): { types: Map<string, string>; series: Series[] } {
  const types = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name!, type!]))
  const series = [...text.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)].map(([, name, labels = '', value]) => ({
    name: name!,
    labels: Object.fromEntries([...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key, text]) => [key, text])),
    value: Number(value),
  }))
  return { types, series }
}
