import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { FAINT_CONTROLS } from './faint-controls.ts'

/** Debian's package `chromium` installs it here. */
const EXECUTABLE = '/usr/bin/chromium'
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const ARGUMENTS = [
  // The tests run as root, where Chromium has no sandbox. All it opens is ours.
  '--no-sandbox',
  // Playwright's routes would cut the network too, but they turn off the cache.
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
]

export interface TestBrowser extends AsyncDisposable {
  browser: Browser
  /**
   * Opens a context whose pages reach only this machine. `faults` lists requests to other origins, errors of scripts
   * and what the policy of the pages refused.
   */
  context(origin: string, options?: BrowserContextOptions): Promise<{ context: BrowserContext; faults: string[] }>
}

export async function startBrowser(): Promise<TestBrowser> {
  const browser = await chromium.launch({ executablePath: EXECUTABLE, args: ARGUMENTS })
  return {
    browser,
    async context(origin, options) {
      const context = await browser.newContext({
        viewport: { width: 1280, height: 900 },
        reducedMotion: 'reduce',
        ...options,
      })
      const faults: string[] = []
      context.on('request', (request) => {
        const url = request.url()
        if (!/^(?:data|blob):/.test(url) && !url.startsWith(`${origin}/`)) faults.push(`a request to ${url}`)
      })
      context.on('weberror', (error) => void faults.push(`a script failed: ${error.error().message}`))
      context.on('console', (message) => {
        if (/Content.Security.Policy/i.test(message.text())) faults.push(message.text())
      })
      return { context, faults }
    },
    [Symbol.asyncDispose]: () => browser.close(),
  }
}

// The ring of a button that waits turns for ever.
const ANIMATIONS_ENDED = `Promise.all(document.getAnimations()
  .filter(({ effect }) => effect.getComputedTiming().endTime !== Infinity)
  .map(({ finished }) => finished))`

/**
 * What axe finds on the page in light and in dark, in a line for each finding, and the controls that are hardly seen.
 * `scheme`: the attribute of the page with its scheme, if it has one.
 */
export async function axeFindings(page: Page, scheme = 'data-mantine-color-scheme'): Promise<string[]> {
  await page.evaluate(AXE)
  const findings: string[] = []
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    if (scheme) await page.locator(`html[${scheme}=${colorScheme}]`).waitFor()
    await page.evaluate(ANIMATIONS_ENDED)
    const { violations } = (await page.evaluate('axe.run()')) as AxeResults
    for (const { id, help, nodes } of violations) {
      findings.push(...nodes.map(({ target }) => `${colorScheme}: ${id}: ${help}: ${target.join(' ')}`))
    }
    const faint = (await page.evaluate(FAINT_CONTROLS)) as string[]
    findings.push(...faint.map((control) => `${colorScheme}: hardly seen, ${control}`))
  }
  return findings
}

/** Runs in a page before its own scripts: `window.shift` is the sum of the shifts of its layout. */
export const OBSERVE_SHIFT = `
  window.shift = 0
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) window.shift += value
  }).observe({ type: 'layout-shift', buffered: true })`

/** Resolves when nothing on the page loads any more. */
export async function loaded(page: Page): Promise<void> {
  await page.waitForLoadState('load')
  await page.locator('h1').first().waitFor()
  await page.locator('[aria-label="Loading"]').first().waitFor({ state: 'detached' })
}
