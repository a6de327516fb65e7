import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'

// Who may import whom. `everything` marks the composition roots.
const everything = /./
// The limits of tiers, warm-up and breaker are one table of data, for whoever applies a limit or tells it.
const MAY_IMPORT: [from: RegExp, to: RegExp][] = [
  [/^gen\//, /^gen\//],
  [/^server\/egress\//, /^server\/(egress\/|(remember|clean-text)\.ts$)/],
  [/^server\/smtp\//, /^server\/(smtp\/|(clean-text|slots)\.ts$)/],
  [/^server\/config/, /^server\/(config|limits)|^workflows\/retry-schedule\.ts$/],
  [/^server\/(errors|caller|log|limits|remember|clean-text|stop-signals|tally)\.ts$/, /^gen\//],
  [/^server\/slots\.ts$/, /^server\/tally\.ts$/],
  [/^server\/db\//, /^(gen|server\/db)\//],
  [/^server\/(events|access|reputation)\//, /^(gen|server\/(db|egress))\/|^server\/(errors|caller|limits|tally)\.ts$/],
  [/^server\/webhooks\//, /^(gen|server\/(db|egress|events))\/|^server\/(errors|remember|clean-text|tally)\.ts$/],
  [/^server\/domains\//, /^(gen|server\/(db|egress|smtp))\/|^server\/(errors|slots|clean-text)\.ts$/],
  [/^server\/inbound\//, /^(gen|server\/(db|egress|smtp|reputation))\/|^server\/(errors|domains\/return-path)\.ts$/],
  [/^server\/sending\//, /^(gen|server\/(db|smtp|domains|events|reputation))\/|^server\/(errors|limits)\.ts$/],
  [/^server\/simulator\//, /^server\/smtp\//],
  [
    /^server\/services\//,
    /^(gen|server\/(db|sending|domains|events|reputation|webhooks))\/|^server\/(errors|caller|limits|tally)\.ts$/,
  ],
  [/^server\/http\//, /^gen\/|^server\/(errors|caller|limits|tally|egress\/network)\.ts$/],
  // What runs inside Temporal's sandbox, and what the activities are given: see also workflows/border.test.ts.
  [/^workflows\/(activities|start|answers)\.ts$/, /^(gen|server\/(db|webhooks))\/|^server\/(log|slots)\.ts$/],
  [/^workflows\/(connection|temporal|set-up|workers)\.ts$/, /^server\/(webhooks\/|config\.ts|errors\.ts|db\/)/],
  [/^workflows\/worker\.ts$/, everything],
  [/^workflows\//, /^workflows\//],
  // The operator's command line composes what it runs.
  [/^server\/cli\//, everything],
  [/^server\/first-attempts\.ts$/, /^server\/(config\.ts|events\/|webhooks\/)/],
  [/^server\/(main|deliveries|first-attempts-thread)\.ts$/, everything],
  [/^dev\//, everything],
]

test('every import follows the table of who may import whom', () => {
  const strangers: string[] = []
  for (const file of globSync(['gen/**/*.ts', 'server/**/*.ts', 'workflows/**/*.ts', 'dev/**/*.ts'])) {
    const rule = MAY_IMPORT.find(([from]) => from.test(file))
    const own = dirname(file)
    for (const [, imported, dynamic] of readFileSync(file, 'utf8').matchAll(
      /from '(\.[^']*)'|import\('(\.[^']*)'\)/g,
    )) {
      const target = normalize(join(own, (imported ?? dynamic)!))
      if (!rule) strangers.push(`${file} has no row in the table`)
      else if (dirname(target) !== own && !rule[1].test(target)) strangers.push(`${file} -> ${target}`)
      else if (dirname(target) === own && own === 'server' && !rule[1].test(target))
        strangers.push(`${file} -> ${target}`)
    }
  }
  expect(strangers).toEqual([])
})
