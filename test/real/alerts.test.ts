import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { stringify, parse as yaml } from 'yaml'
import { DEFINITIONS, isOf } from '../../server/telemetry/metrics.ts'
import { type RunningProcess, startProgram, waitForOutput } from '../harness/process.ts'
import { atEnd, temporaryFolder } from '../harness/until-end.ts'
import { parseScrape } from '../telemetry/scrape.ts'
import { type AlertCase, CASES, HEALTHY, SMALL_CASES } from './alert-cases.ts'
import { type Account, createSender, type Product, startProduct } from './product.ts'
import { promtool } from './promtool.ts'

// deploy/prometheus and deploy/grafana against Debian's promtool, and against a running API and worker.

interface Rule {
  alert: string
  expr: string
  labels: { severity: string }
  annotations: { summary: string; runbook: string }
}

const RULES_FILE = resolve('deploy/prometheus/rules.yaml')
const RULES: Rule[] = yaml(readFileSync(RULES_FILE, 'utf8')).groups.flatMap(({ rules }: { rules: Rule[] }) => rules)
const BOARD = JSON.parse(readFileSync('deploy/grafana/verdict.json', 'utf8'))
const BOARD_EXPRESSIONS: string[] = BOARD.panels.flatMap(({ targets = [] }: { targets?: { expr: string }[] }) =>
  targets.map(({ expr }) => expr.replaceAll('$__rate_interval', '5m')),
)

const folder = temporaryFolder()
let account: Account
let product: Product
let worker: RunningProcess
let workerUrl: string
beforeAll(async () => {
  account = await createSender()
  product = await startProduct(account, { DNS_SERVERS: '127.0.0.1:1' })
  worker = startProgram(process.execPath, ['workflows/worker.ts'], { ...account.env, TEMPORAL_ADDRESS: '127.0.0.1:1' })
  atEnd(() => worker.kill('SIGKILL'))
  await waitForOutput(worker, /"msg":"serving metrics"/)
  workerUrl = /"url":"(http[^"]+)","msg":"serving metrics"/.exec(worker.stdout())![1]!
})

const scrape = async (url: string) => (await fetch(url)).text()
const namesIn = (expression: string) => [...new Set(expression.match(/\b(?:verdict_\w+|up)\b/g))]

test('promtool accepts the rules, the configuration and every expression of the board', () => {
  promtool(['check', 'rules', RULES_FILE])
  promtool(['check', 'config', resolve('deploy/prometheus/prometheus.yaml')])
  const rules = BOARD_EXPRESSIONS.map((expr, i) => ({ record: `board:panel:${i}`, expr }))
  const file = join(folder, 'board.yaml')
  writeFileSync(file, stringify({ groups: [{ name: 'board', rules }] }))
  promtool(['check', 'rules', file])
})

test.for(['api', 'worker'] as const)(
  'the %s exposes every metric that is documented for it, and no other',
  async (of) => {
    const text = await scrape(of === 'api' ? product.api.metricsUrl : workerUrl)
    const documented = Object.values(DEFINITIONS).filter((definition) => isOf(definition, of))
    const { types } = parseScrape(text)
    expect([...types].sort()).toEqual(documented.map(({ name, kind }) => [name, kind]).sort())
    const guide = readFileSync('docs/metrics.md', 'utf8')
    for (const name of types.keys()) expect(guide).toContain(`### \`${name}\``)
  },
)

test('promtool finds no fault in the names, types and help texts', async () => {
  promtool(['check', 'metrics'], await scrape(product.api.metricsUrl))
  promtool(['check', 'metrics'], await scrape(workerUrl))
})

test('every rule and every panel names only metrics and labels that a running instance exposes', async () => {
  const exposed = new Map<string, string[]>([['up', ['job', 'instance']]])
  for (const { name, kind, labels } of Object.values(DEFINITIONS) as {
    name: string
    kind: string
    labels?: object
  }[]) {
    const names = kind === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => name + end) : [name]
    for (const one of names) exposed.set(one, Object.keys(labels ?? {}))
  }
  for (const expression of [...RULES.map(({ expr }) => expr), ...BOARD_EXPRESSIONS]) {
    for (const name of namesIn(expression)) expect([...exposed.keys()]).toContain(name)
    for (const [, name, matchers] of expression.matchAll(/\b(verdict_\w+)\{([^}]*)\}/g)) {
      for (const [, label] of matchers!.matchAll(/(\w+)(?:=|!)/g)) expect(exposed.get(name!)).toContain(label)
    }
  }
})

test('every alert has a severity, an entry in the runbook and a case', () => {
  const runbook = readFileSync('docs/runbook.md', 'utf8')
  for (const { alert, labels, annotations } of RULES) {
    expect(['page', 'ticket']).toContain(labels.severity)
    expect(annotations.runbook).toBe(`docs/runbook.md#${alert.toLowerCase()}`)
    expect(runbook).toMatch(new RegExp(`^### ${alert}$`, 'm'))
  }
  expect(Object.keys(CASES).sort()).toEqual(RULES.map(({ alert }) => alert).sort())
  expect([...runbook.matchAll(/^### (\w+)$/gm)].map(([, name]) => name).sort()).toEqual(Object.keys(CASES).sort())
})

test('each alert fires when its case comes, and none fires in an installation that works', () => {
  const healthy = { name: 'works', ...input(HEALTHY), alert_rule_test: RULES.map((rule) => expectation(rule)) }
  const cases = RULES.map((rule) => {
    const { series, labels } = CASES[rule.alert]!
    return { name: rule.alert, ...input({ ...HEALTHY, ...series }), alert_rule_test: [expectation(rule, labels ?? {})] }
  })
  const file = join(folder, 'test.yaml')
  writeFileSync(file, stringify({ rule_files: [RULES_FILE], evaluation_interval: '1m', tests: [healthy, ...cases] }))
  promtool(['test', 'rules', file])
})

test('each alert on a share of something also sees an installation with two sends a minute', () => {
  const shares = RULES.filter(({ expr }) => /increase|rate\(/.test(expr) && / \/ /.test(expr))
  expect(Object.keys(SMALL_CASES).sort()).toEqual(shares.map(({ alert }) => alert).sort())
  const cases = shares.map((rule) => {
    const { series, labels = {} } = SMALL_CASES[rule.alert]!
    return { name: rule.alert, ...input(series), alert_rule_test: [expectation(rule, labels)] }
  })
  const file = join(folder, 'small.yaml')
  writeFileSync(file, stringify({ rule_files: [RULES_FILE], evaluation_interval: '1m', tests: cases }))
  promtool(['test', 'rules', file])
})

const input = (series: Record<string, string>) => ({
  interval: '1m',
  input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
})

/** Without labels the alert must not fire. */
function expectation({ alert, labels: own, annotations }: Rule, labels?: AlertCase['labels']) {
  const exp_alerts = labels ? [{ exp_labels: { ...own, ...labels }, exp_annotations: annotations }] : []
  return { alertname: alert, eval_time: '150m', exp_alerts }
}

test('strange recipients, domains and paths add no series', async () => {
  const series = async () => parseScrape(await scrape(product.api.metricsUrl)).series
  const strange = async (n: number) => {
    await product.send({ to: `x"{}\\${n}@simulator.test` })
    await product.send({ to: `someone@x${n}.example.net` })
    await product.send({ to: `delivered+${n}@simulator.test` })
    await product.send({ to: 'delivered@simulator.test', tenant_id: `tenant-${n}`, tag: `tag-${n}` })
    await product.get(`/api/v1/emails/msg_${n}`)
    await product.get(`/no/such/path/${n}`)
  }
  await strange(0)
  const before = await series()
  for (let n = 1; n <= 5; n++) await strange(n)
  const after = await series()
  const key = ({ name, labels }: (typeof after)[number]) => `${name} ${JSON.stringify(labels)}`
  const known = new Set(before.map(key))
  expect(after.map(key).filter((one) => !known.has(one))).toEqual([])
  expect(after.length).toBeLessThan(2_000)
  expect(JSON.stringify(after)).not.toMatch(/@|example|simulator\.test|svc_|acc_|msg_|tenant-/)
})
