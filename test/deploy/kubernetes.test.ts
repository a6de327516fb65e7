import { spawnSync } from 'node:child_process'
import { chmodSync, globSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { DEFINITIONS } from '../../server/telemetry/metrics.ts'
import { snippets } from '../docs/snippets.ts'
import { temporaryFolder } from '../harness/until-end.ts'
import { onlyStep, readDockerfile } from './dockerfile.ts'
import { COMMANDS, configOf, imageEnvironment, isFixed, read, stopMs, VERSION } from './environment.ts'
import { environmentFile } from './units.ts'

// What Verdict runs in Kubernetes. test/real builds the kustomizations.

// biome-ignore lint/suspicious/noExplicitAny: a manifest is checked against Kubernetes' schemas in test/real.
type Manifest = any

const FOLDER = 'deploy/kubernetes'
const SMTP = parse(read(`${FOLDER}/components/smtp/kustomization.yaml`))
const OWN = parse(snippets(read('docs/installing.md')).find(({ text }) => text.includes('secretGenerator:'))!.text)
const manifests: Manifest[] = [
  ...globSync(`${FOLDER}/{base,components/{smtp,autoscaling}}/!(kustomization).yaml`).flatMap((file) =>
    parseAllDocuments(read(file), { version: '1.1' }).map((document) => document.toJS()),
  ),
  configMap('verdict', environmentFile(`${FOLDER}/base/verdict.env`)),
  configMap(
    'verdict-smtp',
    Object.fromEntries(SMTP.configMapGenerator[0].literals.map((line: string) => line.split('='))),
  ),
]
const of = (kind: string, name: string): Manifest =>
  manifests.find((manifest) => manifest.kind === kind && manifest.metadata.name === name)
const WORKLOADS = manifests.filter(({ kind }) => kind === 'Deployment' || kind === 'Job')
const pods = WORKLOADS.map(({ metadata, spec }) => [metadata.name, spec.template] as [string, Manifest])
/** What the Secret of the guide and a Secret of type kubernetes.io/tls have. */
const SECRETS: Record<string, string[]> = {
  verdict: OWN.secretGenerator[0].files.map((file: string) => basename(file)),
  'verdict-tls': ['tls.crt', 'tls.key'],
}
const running = pods.filter(([name]) => name !== 'verdict-migrate')

/** What kustomize generates from it. */
function configMap(name: string, data: Record<string, string>): Manifest {
  return { kind: 'ConfigMap', metadata: { name }, data }
}

function environmentOf({ env = [], envFrom = [] }: Manifest): Record<string, string> {
  const maps = envFrom.map(({ configMapRef }: Manifest) => of('ConfigMap', configMapRef.name).data)
  const own = Object.fromEntries(env.map(({ name, value }: Manifest) => [name, value]))
  return Object.assign({}, imageEnvironment(), ...maps, own)
}

test('the API, the worker and the migrations run the commands of npm', () => {
  const ran = Object.fromEntries(pods.map(([name, { spec }]) => [name, spec.containers[0].command.join(' ')]))
  expect(ran).toEqual({
    'verdict-api': COMMANDS.api,
    'verdict-worker': COMMANDS.worker,
    'verdict-migrate': COMMANDS.migrate,
  })
})

test.each([
  ['when all is well', 0, 0],
  ['with warnings', 4, 0],
  ['when a check fails', 1, 1],
])('the check before the migrations %s: exit code %i becomes %i', (_, code, status) => {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'verdict'), `#!/bin/sh\n[ "$*" = "upgrade check" ] || exit 9\nexit ${code}\n`)
  chmodSync(join(folder, 'verdict'), 0o755)
  const [program, ...args] = of('Job', 'verdict-migrate').spec.template.spec.initContainers[0].command
  const ended = spawnSync(program, args, { env: { PATH: `${folder}:${process.env.PATH}` } })
  rmSync(folder, { recursive: true })
  expect(ended.status).toBe(status)
})

test.each(running)('%s has a valid configuration, and the time to drain after preStop', (_, { spec }) => {
  const [container] = spec.containers
  const config = configOf(environmentOf(container))
  const preStopMs = (container.lifecycle?.preStop.sleep.seconds ?? 0) * 1000
  expect(spec.terminationGracePeriodSeconds * 1000).toBeGreaterThan(preStopMs + stopMs(config))
})

test.each(pods)(
  '%s runs a fixed version as the user of the image, without rights, on a read-only root',
  (_, { spec }) => {
    const [user, group] = onlyStep(readDockerfile().at(-1)!, 'USER').values[0]!.split(':').map(Number)
    expect(spec.securityContext).toMatchObject({
      runAsNonRoot: true,
      runAsUser: user,
      runAsGroup: group,
      fsGroup: group,
    })
    expect(spec.securityContext.seccompProfile).toEqual({ type: 'RuntimeDefault' })
    for (const container of [...(spec.initContainers ?? []), ...spec.containers]) {
      expect(isFixed(container.image)).toBe(true)
      expect(container.image.split(':')[1]).toBe(VERSION)
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      })
    }
    expect(spec).toMatchObject({ automountServiceAccountToken: false, enableServiceLinks: false })
  },
)

test.each(pods)('the secrets of %s are files that the Secret has', (_, { spec }) => {
  const [{ volumeMounts, ...container }] = spec.containers
  const files = Object.entries(environmentOf(container)).filter(([name]) => name.endsWith('_FILE'))
  expect(files.length).toBeGreaterThan(0)
  const secrets = spec.volumes.filter(({ secret }: Manifest) => secret)
  const known = secrets.flatMap(({ name, secret }: Manifest) => {
    const { mountPath } = volumeMounts.find((mount: Manifest) => mount.name === name)
    return SECRETS[secret.secretName]!.map((key) => `${mountPath}/${key}`)
  })
  for (const [, path] of files) expect(known).toContain(path)
  for (const { secret } of secrets) expect(secret.defaultMode).toBe(0o440)
})

test('the API starts without the component smtp and without the Secret that it needs, and then does not listen for programs', () => {
  const { containers, volumes } = of('Deployment', 'verdict-api').spec.template.spec
  const [first, second] = containers[0].envFrom
  expect([first.configMapRef.optional, second.configMapRef]).toEqual([
    undefined,
    { name: 'verdict-smtp', optional: true },
  ])
  expect(volumes.find(({ name }: Manifest) => name === 'tls').secret.optional).toBe(true)
  expect(configOf(environmentOf({ ...containers[0], envFrom: [first] })).smtpFrontPort).toBeUndefined()
})

test('the ports of probes, Services and policies are those that the API listens on', () => {
  const [container] = of('Deployment', 'verdict-api').spec.template.spec.containers
  const config = configOf(environmentOf(container))
  const ports = Object.fromEntries(container.ports.map(({ name, containerPort }: Manifest) => [name, containerPort]))
  expect(ports).toMatchObject({
    http: config.port,
    bounces: config.bouncePort,
    submission: config.smtpFrontPort,
    metrics: config.metricsPort,
  })
  const probed = ['startupProbe', 'livenessProbe', 'readinessProbe'].map((probe) => container[probe].httpGet)
  expect(probed.map(({ path }) => path)).toEqual(['/healthz', '/healthz', '/readyz'])
  const services = manifests.filter(({ kind }) => kind === 'Service').flatMap(({ spec }) => spec.ports)
  const rules = manifests.filter(({ kind }) => kind === 'NetworkPolicy').flatMap(({ spec }) => spec.ingress ?? [])
  const named = [
    ...probed.map(({ port }) => port),
    ...services.map(({ targetPort }) => targetPort),
    ...rules.flatMap((rule) => rule.ports.map(({ port }: Manifest) => port)),
  ]
  for (const name of named) expect(Object.keys(ports)).toContain(name)
})

test('the worker is probed and scraped where it serves metrics', () => {
  const [container] = of('Deployment', 'verdict-worker').spec.template.spec.containers
  const { workerMetricsPort } = configOf(environmentOf(container))
  expect(container.ports).toEqual([{ name: 'metrics', containerPort: workerMetricsPort }])
  const get = { path: '/metrics', port: 'metrics' }
  expect([container.startupProbe.httpGet, container.livenessProbe.httpGet]).toEqual([get, get])
})

test('every selector finds pods', () => {
  const labels = pods.map(([, { metadata }]) => metadata.labels)
  const finds = (selector: Record<string, string>) =>
    labels.some((label) => Object.entries(selector).every(([name, value]) => label[name] === value))
  const selectors = manifests.flatMap(({ kind, spec }) => {
    if (kind === 'Service') return [spec.selector]
    return [spec?.selector?.matchLabels, spec?.podSelector?.matchLabels].filter(Boolean)
  })
  expect(selectors.length).toBeGreaterThan(7)
  for (const selector of selectors) expect([selector, finds(selector)]).toEqual([selector, true])
})

test('a rollout and a drain of a node leave an API and a worker', () => {
  for (const name of ['verdict-api', 'verdict-worker']) {
    const { spec } = of('Deployment', name)
    expect(spec.replicas).toBeGreaterThan(of('PodDisruptionBudget', name).spec.maxUnavailable)
    const topologies = spec.template.spec.topologySpreadConstraints.map(({ topologyKey }: Manifest) => topologyKey)
    expect(topologies).toEqual(['kubernetes.io/hostname', 'topology.kubernetes.io/zone'])
  }
  expect(of('Deployment', 'verdict-api').spec.strategy.rollingUpdate.maxUnavailable).toBe(0)
})

test('the autoscaler ends no second pod while one may still drain', () => {
  const { spec } = of('HorizontalPodAutoscaler', 'verdict-api')
  const { terminationGracePeriodSeconds } = of('Deployment', 'verdict-api').spec.template.spec
  const { stabilizationWindowSeconds, policies } = spec.behavior.scaleDown
  expect(policies).toEqual([{ type: 'Pods', value: 1, periodSeconds: expect.any(Number) }])
  expect(policies[0].periodSeconds).toBeGreaterThan(terminationGracePeriodSeconds)
  expect(stabilizationWindowSeconds).toBeGreaterThan(2 * terminationGracePeriodSeconds)
  expect(spec.minReplicas).toBe(of('Deployment', 'verdict-api').spec.replicas)
})

test('the adapter makes the metric that the autoscaler reads from one that the API has', () => {
  const [rule] = parse(read(`${FOLDER}/prometheus-adapter.yaml`)).rules.custom
  const [{ pods }] = of('HorizontalPodAutoscaler', 'verdict-api').spec.metrics
  expect(rule.name.as).toBe(pods.metric.name)
  const { name, kind, labels } = DEFINITIONS.eventLoopBusy
  expect(rule.name.matches).toBe(`^${name}$`)
  expect(rule.seriesQuery).toBe(`${name}{namespace!="",pod!="",thread="main"}`)
  expect([kind, labels.thread]).toEqual(['counter', expect.arrayContaining(['main'])])
})

test("Temporal's databases are created by the script that Compose runs", () => {
  expect(read(`${FOLDER}/components/temporal/schema.sh`)).toBe(read('deploy/compose/temporal-schema.sh'))
  expect(read(`${FOLDER}/components/temporal/dynamic.yaml`)).toBe(read('deploy/compose/temporal.yaml'))
})

test('all images of Temporal have the versions that Compose has', () => {
  const images = (text: string) =>
    [...text.matchAll(/image: (temporalio\/(?:server|admin-tools):\S+)/g)].map(([, image]) => image)
  const here = globSync(`${FOLDER}/components/temporal/**/*.yaml`).flatMap((file) => images(read(file)))
  expect(new Set(here)).toEqual(new Set(images(read('compose.yaml'))))
})
