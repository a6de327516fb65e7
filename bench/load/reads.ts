/** GETs each path of the API once, one after another. Returns how long each took, in milliseconds. */
export async function callInTurn(
  { port, key }: { port: number; key: string },
  paths: readonly string[],
): Promise<number[]> {
  const timesMs: number[] = []
  for (const path of paths) {
    const startedAt = performance.now()
    await readJson(port, key, path)
    timesMs.push(performance.now() - startedAt)
  }
  return timesMs
}

export async function readJson<Body>(port: number, key: string, path: string): Promise<Body> {
  const headers = { authorization: `Bearer ${key}` }
  const response = await fetch(`http://127.0.0.1:${port}/api/v1${path}`, { headers })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${text.slice(0, 200)}`)
  return JSON.parse(text)
}
