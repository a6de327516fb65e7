import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'

// Which folder may import which. `everything` marks the composition roots. The client is a package of its own.
const everything = /^(?!client\/)/
const MAY_IMPORT: [from: RegExp, to: RegExp][] = [
  [/^gen\//, /^gen\//],
  [/^client\//, /^client\//],
  [/^dashboard\//, /^(gen|dashboard)\//],
  // Single files that several rooms share.
  [/^server\/slots\.ts$/, /^server\/tally\.ts$/],
  [/^server\/re(cent|member)\.ts$/, /^server\/(bounded-map|in-time)\.ts$/],
  [/^server\/caller\.ts$/, /^server\/(telemetry\/tracing|db\/connect)\.ts$/],
  [
    /^server\/(address|bounded-map|clean-text|enum-names|errors|every|in-time|log|release-memory|stop-signals|tally|turns)\.ts$/,
    /^gen\//,
  ],
  [/^server\/config\//, /^server\/config\//],
  [/^server\/db\/migrate\.ts$/, /^server\/(config\/|db\/)/],
  [/^server\/db\//, /^(gen|server\/db)\/|^server\/(enum-names|every|in-time|config\/database-url)\.ts$/],
  [/^server\/dns\//, /^server\/(dns\/|(bounded-map|slots)\.ts$)/],
  [/^server\/mime\//, /^server\/(mime\/|(address|clean-text)\.ts$)/],
  [/^server\/egress\//, /^server\/(egress\/|(clean-text|remember)\.ts$)/],
  [/^server\/smtp\//, /^server\/((smtp|dns)\/|(bounded-map|clean-text|slots)\.ts$)/],
  // The limits of tiers, warm-up and breaker are one table of data, for every room that applies or shows a limit.
  [
    /^server\/access\//,
    /^(gen|server\/(audit|access|db|egress))\/|^server\/(bounded-map|caller|errors|in-time|recent|slots|tally|config\/limits)\.ts$/,
  ],
  [
    /^server\/reputation\//,
    /^(gen|server\/(reputation|db))\/|^server\/(enum-names|errors|in-time|recent|config\/limits)\.ts$/,
  ],
  [
    /^server\/webhooks\//,
    /^(gen|server\/(audit|webhooks|db|egress))\/|^server\/(telemetry\/trac(eparent|ing)|clean-text|errors|every|remember|slots)\.ts$/,
  ],
  [
    /^server\/domains\//,
    /^(gen|server\/(audit|domains|db|dns|egress))\/|^server\/(bounded-map|clean-text|errors|recent|slots)\.ts$/,
  ],
  [/^server\/erasure\//, /^(gen|server\/(erasure|audit|db|reputation))\/|^server\/address\.ts$/],
  [/^server\/audit\//, /^server\/((audit|db)\/|caller\.ts$)/],
  [/^server\/receipts\//, /^(gen|server\/(receipts|db))\/|^server\/(address|in-time|recent)\.ts$/],
  [/^server\/history\//, /^(gen|server\/(history|db|egress|reputation))\/|^server\/(errors|every|in-time)\.ts$/],
  // A late bounce or a complaint counts and suppresses by the same SQL as the end of a send.
  [
    /^server\/inbound\//,
    /^(gen|server\/(inbound|db|egress|smtp|history|reputation))\/|^server\/(address|errors|in-time|domains\/return-path)\.ts$/,
  ],
  [
    /^server\/sending\//,
    /^(gen|server\/(sending|db|smtp|mime|domains|history|reputation))\/|^server\/(telemetry\/tracing|address|clean-text|enum-names|errors|in-time|turns|config\/limits)\.ts$/,
  ],
  [/^server\/simulator\//, /^server\/((simulator|smtp)\/|address\.ts$)/],
  [
    /^server\/services\//,
    /^(gen|server\/(services|audit|db|sending|domains|history|receipts|reputation|webhooks))\/|^server\/(telemetry\/tracing|caller|enum-names|errors|tally|config\/limits)\.ts$/,
  ],
  [
    /^server\/people\//,
    /^(gen|server\/(people|access|audit|db|egress))\/|^server\/(address|caller|clean-text|errors|log|config\/limits)\.ts$/,
  ],
  [
    /^server\/admin\//,
    /^(gen|server\/(admin|people|access|audit|db|domains|egress|mime|reputation|sending|services|simulator|webhooks))\/|^server\/(telemetry\/tracing|address|caller|clean-text|enum-names|errors|config\/limits)\.ts$/,
  ],
  [
    /^server\/http\//,
    /^(gen|server\/http)\/|^server\/(telemetry\/trac(eparent|ing)|caller|errors|tally|turns|config\/limits|egress\/network)\.ts$/,
  ],
  // What counts and shows. Rooms report to it through callbacks, so that none of them depends on it. Of traces
  // they know the interface.
  [/^server\/telemetry\/trac(eparent|ing)\.ts$/, /^server\/telemetry\/traceparent\.ts$/],
  [
    /^server\/telemetry\//,
    /^(gen|server\/(telemetry|config|db|dns|http|sending|smtp|webhooks))\/|^server\/(enum-names|errors|every|in-time)\.ts$/,
  ],
  // Code inside Temporal's sandbox, and what the activities get: see also workflows/border.process.test.ts.
  [
    /^workflows\/(activities|client|responses)\.ts$/,
    /^(gen|workflows|server\/(db|webhooks))\/|^server\/(telemetry\/tracing|log|slots)\.ts$/,
  ],
  [
    /^workflows\/(connection|interceptors|temporal|set-up|inspection|run-workers)\.ts$/,
    /^workflows\/|^server\/(webhooks\/|(telemetry\/tracing|config\/config|errors|in-time)\.ts$)/,
  ],
  [/^workflows\/worker\.ts$/, everything],
  [/^workflows\//, /^workflows\//],
  // The doctor looks at every part.
  [/^server\/doctor\//, everything],
  // The operator's command line is a composition root, too.
  [/^server\/cli\//, everything],
  [/^server\/first-attempts\.ts$/, /^server\/((db|telemetry|webhooks)\/|(first-attempts-thread|config\/config)\.ts$)/],
  [
    /^server\/(main|api|program|outbound|bounces|certificate|upkeep|domain-checks|deliveries|replicas|stored-secrets|first-attempts-thread)\.ts$/,
    everything,
  ],
  [/^dev\//, everything],
]

/** The imports of each file from this repository, types included. */
const IMPORTS = new Map(
  globSync(['client/{*,gen/*}.ts', '{gen,server,workflows,dev}/**/*.ts', 'dashboard/**/*.{ts,tsx}']).map((file) => {
    const imports = readFileSync(file, 'utf8').matchAll(/from '(\.[^']*)'|import\('(\.[^']*)'\)/g)
    return [file, [...imports].map(([, from, dynamic]) => normalize(join(dirname(file), (from ?? dynamic)!)))]
  }),
)

test('every import follows the table', () => {
  const strangers: string[] = []
  for (const [file, imports] of IMPORTS) {
    const rule = MAY_IMPORT.find(([from]) => from.test(file))
    if (!rule) strangers.push(`${file} has no row in the table`)
    else strangers.push(...imports.filter((target) => !rule[1].test(target)).map((target) => `${file} -> ${target}`))
  }
  expect(strangers).toEqual([])
})

test('no file imports itself through others, not even for a type', () => {
  const open = new Map(IMPORTS)
  for (let leaves = ['']; leaves.length > 0; ) {
    leaves = [...open].filter(([, imports]) => !imports.some((target) => open.has(target))).map(([file]) => file)
    for (const leaf of leaves) open.delete(leaf)
  }
  // The files that are left are in a circle or import one.
  expect([...open.keys()]).toEqual([])
})

test('Drizzle is loaded in one place, as CommonJS: its ES modules cost each process a second and 210 MB', () => {
  const loaders = globSync('{server,workflows,dev,test,bench}/**/*.ts').filter((file) =>
    /^import \{[^}]*\} from 'drizzle-orm/m.test(readFileSync(file, 'utf8')),
  )
  expect(loaders).toEqual([])
})
