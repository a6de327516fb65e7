import { readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { freePort } from '../../dev/ports.ts'
import { parseScrape } from '../telemetry/scrape.ts'
import { openFolder, startDaemon } from './daemon.ts'
import { type Account, createSender, type Product, startProduct } from './product.ts'
import { promtool } from './promtool.ts'

// The metric by which Kubernetes scales the API. Debian's Prometheus scrapes a running process, and computes the rule
// of prometheus-adapter.

const ADAPTER = parse(readFileSync('deploy/kubernetes/prometheus-adapter.yaml', 'utf8'))
const [RULE] = ADAPTER.rules.custom
interface Job {
  job_name: string
  kubernetes_sd_configs?: object[]
  relabel_configs: { target_label?: string }[]
}

const POD = { namespace: 'verdict', pod: 'verdict-api-1' }

let folder: string
let account: Account
let product: Product
let prometheusUrl: string

beforeAll(async () => {
  folder = await openFolder('autoscaling')
  account = await createSender()
  product = await startProduct(account, { LOG_LEVEL: 'warn' })
  const { host, pathname: metrics_path } = new URL(product.api.metricsUrl)
  const job = { job_name: 'verdict-api', metrics_path, static_configs: [{ targets: [host], labels: POD }] }
  const file = join(folder, 'prometheus.yml')
  await writeFile(file, stringify({ global: { scrape_interval: '1s' }, scrape_configs: [job] }))
  await mkdir(join(folder, 'data'))
  const port = await freePort()
  prometheusUrl = `http://127.0.0.1:${port}`
  const options = [
    `--config.file=${file}`,
    `--storage.tsdb.path=${folder}/data`,
    `--web.listen-address=127.0.0.1:${port}`,
  ]
  await startDaemon(['prometheus', ...options], { port })
})

/** What prometheus-adapter asks Prometheus for these pods. */
const queryOf = (pods: string[]) =>
  (RULE.metricsQuery as string)
    .replaceAll('<<.Series>>', /^\^(\w+)\$$/.exec(RULE.name.matches)![1]!)
    .replaceAll('<<.LabelMatchers>>', `namespace="${POD.namespace}",pod=~"${pods.join('|')}"`)
    .replaceAll('<<.GroupBy>>', 'pod')

async function ask(path: string, parameters: Record<string, string>) {
  const response = await fetch(`${prometheusUrl}/api/v1/${path}?${new URLSearchParams(parameters)}`)
  // biome-ignore lint/suspicious/noExplicitAny: Prometheus' own JSON.
  return ((await response.json()) as any).data
}

test('a process exports the metric that the adapter looks for, with the thread that it reads', async () => {
  const { types, series } = parseScrape(await (await fetch(product.api.metricsUrl)).text())
  const name = /^\^(\w+)\$$/.exec(RULE.name.matches)![1]!
  expect(types.get(name)).toBe('counter')
  const [, thread] = /thread="(\w+)"/.exec(RULE.metricsQuery)!
  expect(series.filter((one) => one.name === name).map(({ labels }) => labels.thread)).toContain(thread)
})

test('Prometheus finds one series for each pod, and computes a share of time from its scrapes', async () => {
  await expect
    .poll(() => ask('series', { 'match[]': RULE.seriesQuery }))
    .toEqual([expect.objectContaining({ ...POD, thread: 'main' })])
  const busy = async () => {
    const { result } = await ask('query', { query: queryOf([POD.pod]) })
    expect(result).toMatchObject([{ metric: { pod: POD.pod } }])
    return Number(result[0].value[1])
  }
  await expect.poll(busy).toBeGreaterThan(0)
  // A rate is extrapolated a little.
  expect(await busy()).toBeLessThan(1.1)
})

test('the rule computes the share of time that each pod is busy', async () => {
  // 6 s of work in every scrape interval of 15 s, and 12 s.
  const series = (pod: string, thread: string, step: number) => ({
    series: `verdict_event_loop_busy_seconds_total{namespace="verdict",pod="${pod}",thread="${thread}"}`,
    values: `0+${step}x40`,
  })
  const input_series = [series('a', 'main', 6), series('b', 'main', 12), series('a', 'first_attempts', 15)]
  const exp_samples = [
    { labels: '{pod="a"}', value: 0.4 },
    { labels: '{pod="b"}', value: 0.8 },
  ]
  const promql_expr_test = [{ expr: queryOf(['a', 'b']), eval_time: '8m', exp_samples }]
  const file = join(folder, 'rule.yaml')
  const tests = [{ interval: '15s', input_series, promql_expr_test }]
  await writeFile(file, stringify({ evaluation_interval: '15s', tests }))
  promtool(['test', 'rules', file])
})

test('Prometheus accepts the jobs of Kubernetes, which name the pods as the adapter wants', async () => {
  const { scrape_configs: jobs } = parse(readFileSync('deploy/kubernetes/prometheus.yaml', 'utf8'))
  // Debian builds its Prometheus without the discovery of Kubernetes.
  const discovered = [{ role: 'pod', namespaces: { names: ['verdict'] } }]
  const others = jobs.map(({ kubernetes_sd_configs, ...job }: Job) => {
    expect(kubernetes_sd_configs).toEqual(discovered)
    return job
  })
  const file = join(folder, 'jobs.yaml')
  await writeFile(file, stringify({ scrape_configs: others }))
  promtool(['check', 'config', file])
  const known = parse(readFileSync('deploy/prometheus/prometheus.yaml', 'utf8')).scrape_configs
  const nameOf = ({ job_name }: Job) => job_name
  expect(jobs.map(nameOf)).toEqual(known.map(nameOf))
  for (const { relabel_configs: relabelling } of jobs as Job[]) {
    const labels = relabelling.flatMap(({ target_label }) => target_label ?? [])
    expect(labels).toEqual(Object.keys(RULE.resources.overrides))
  }
})
