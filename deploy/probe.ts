import { setTimeout as sleep } from 'node:timers/promises'

// `node deploy/probe.ts <url> [seconds]`: ends with 0 when the URL answers 2xx, at once or within the seconds, and with
// 1 and the reason otherwise. Container images have no curl.

const TIMEOUT_MS = 4_000
const AGAIN_AFTER_MS = 250

const [url, seconds = '0'] = process.argv.slice(2)
if (!url || !URL.canParse(url)) {
  console.error('usage: node deploy/probe.ts <url> [seconds]')
  process.exit(64)
}

for (const deadlineMs = performance.now() + Number(seconds) * 1_000; ; await sleep(AGAIN_AFTER_MS)) {
  const fault = await faultOf(url)
  if (fault === undefined) break
  if (performance.now() + AGAIN_AFTER_MS < deadlineMs) continue
  console.error(`${url}: ${fault}`)
  process.exit(1)
}

async function faultOf(url: string): Promise<string | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) })
    return response.ok ? undefined : `HTTP ${response.status} ${(await response.text()).slice(0, 500)}`
  } catch (error) {
    const { message, cause } = error as Error
    return cause instanceof Error ? cause.message : message
  }
}
