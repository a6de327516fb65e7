import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'

/** Debian's package `chromium` installs it here. */
const EXECUTABLE = '/usr/bin/chromium'
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

export interface TestBrowser extends AsyncDisposable {
  browser: Browser
  /**
   * Opens a context whose pages reach only the given origin. `faults` lists requests to others, errors of scripts and
   * what the policy of the pages refused.
   */
  context(origin: string, options?: BrowserContextOptions): Promise<{ context: BrowserContext; faults: string[] }>
}

export async function startBrowser(): Promise<TestBrowser> {
  // The tests run as root, where Chromium has no sandbox. All it opens is ours.
  const browser = await chromium.launch({ executablePath: EXECUTABLE, args: ['--no-sandbox'] })
  return {
    browser,
    async context(origin, options) {
      const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options })
      const faults: string[] = []
      await context.route('**', (route) => {
        const url = route.request().url()
        if (url.startsWith(`${origin}/`) || url.startsWith('data:') || url.startsWith('blob:')) return route.continue()
        faults.push(`a request to ${url}`)
        return route.abort()
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

/** What axe finds on the page, in a line for each finding. */
export async function axeFindings(page: Page): Promise<string[]> {
  await page.evaluate(AXE)
  const { violations } = (await page.evaluate('axe.run()')) as AxeResults
  return violations.flatMap(({ id, help, nodes }) => nodes.map(({ target }) => `${id}: ${help}: ${target.join(' ')}`))
}

/** Resolves when nothing on the page loads any more. */
export async function loaded(page: Page): Promise<void> {
  await page.waitForLoadState('load')
  await page.locator('h1').first().waitFor()
  await page.locator('[aria-label="Loading"]').first().waitFor({ state: 'detached' })
}
