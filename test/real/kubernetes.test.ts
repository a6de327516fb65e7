import { execFile } from 'node:child_process'
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { Ajv, type ValidateFunction } from 'ajv'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse, parseAllDocuments, stringify } from 'yaml'
import { goToolchain } from '../../dev/temporal/go-toolchain.ts'
import { cacheFolder } from '../../dev/temporal/install-options.ts'
import { VERSION } from '../deploy/environment.ts'
import { snippets } from '../docs/snippets.ts'
import { openFolder } from './daemon.ts'
import { kustomizeProgram } from './kustomize.ts'
import { installRequirements } from './pythons.ts'
import { temporalVariables } from './temporal-variables.ts'

// deploy/kubernetes as kustomize builds it, against Kubernetes' schemas and the resource definition of CloudNativePG.

// biome-ignore lint/suspicious/noExplicitAny: a manifest is checked against schemas.
type Manifest = any

const DOWNLOAD_MS = 600_000
const KUBERNETES = resolve('deploy/kubernetes')
/** The oldest and the newest supported Kubernetes whose schemas are at hand. */
const VERSIONS = ['1.33', '1.37']
/** A release that the operator's manifest was read with. Its resource definitions come with its Go module. */
const CLOUDNATIVEPG = 'github.com/cloudnative-pg/cloudnative-pg@v1.28.0'
const OF_CLOUDNATIVEPG = 'postgresql.cnpg.io/v1'
/** The most connections of a process to PostgreSQL (docs/scaling.md), and what the operator, standbys and you need. */
const API_CONNECTIONS = 13
const WORKER_CONNECTIONS = 10
const FOR_OTHERS = 20
const run = promisify(execFile)

let root: string
let kustomize: string
let python: string
let followsDefinition: ValidateFunction
/** What each kustomization builds, by its name. */
const built: Record<string, Manifest[]> = {}

/** All components, over resources that exist already. */
const WITH_SMTP = {
  resources: ['../deploy/kubernetes/three-machines'],
  components: ['../deploy/kubernetes/components/smtp'],
}

beforeAll(async () => {
  root = await openFolder('kubernetes')
  kustomize = await kustomizeProgram()
  python = await installRequirements('test/real/kubernetes-requirements.txt', root)
  followsDefinition = await clusterDefinition()
  await cp(KUBERNETES, join(root, 'deploy/kubernetes'), { recursive: true })
  for (const name of ['base', 'one-machine', 'three-machines']) built[name] = await build(join(KUBERNETES, name))
  built['with SMTP'] = await buildOf('with-smtp', WITH_SMTP)
  const guide = snippets(await readFile('docs/installing.md', 'utf8'))
  const own = guide.find(({ mark, text }) => mark === 'not-run=by-the-test' && text.includes('kind: Kustomization'))!
  built["the guide's"] = await buildOf('own', parse(own.text.replaceAll('../verdict/deploy', '../deploy')))
}, DOWNLOAD_MS)

afterAll(() => rm(root, { recursive: true }))

async function build(folder: string): Promise<Manifest[]> {
  const { stdout } = await run(kustomize, ['build', folder], { maxBuffer: 2 ** 24 })
  return parseAllDocuments(stdout, { version: '1.1' }).map((document) => document.toJS())
}

/** Builds a kustomization beside a copy of deploy/. */
async function buildOf(name: string, kustomization: object): Promise<Manifest[]> {
  await mkdir(join(root, name))
  await writeFile(join(root, name, 'kustomization.yaml'), stringify(kustomization))
  return build(join(root, name))
}

const BUILDS = ['base', 'one-machine', 'three-machines', 'with SMTP', "the guide's"]

const named = (manifests: Manifest[], kind: string, name: string): Manifest => {
  const found = manifests.filter(({ metadata, ...manifest }) => manifest.kind === kind && metadata.name === name)
  expect([kind, name, found.length]).toEqual([kind, name, 1])
  return found[0]
}
const podsOf = (manifests: Manifest[]): Manifest[] =>
  manifests.filter(({ kind }) => kind === 'Deployment' || kind === 'Job').map(({ spec }) => spec.template)
const has = (labels: Record<string, string>, selector: Record<string, string>) =>
  Object.entries(selector).every(([name, value]) => labels[name] === value)

async function validate(file: string, manifests: Manifest[]): Promise<void> {
  const path = join(root, file)
  await writeFile(path, manifests.map((manifest) => stringify(manifest)).join('---\n'))
  for (const version of VERSIONS) await run(`${python}/kubernetes-validate`, ['--strict', '-k', version, path])
}

describe.each(BUILDS)('what %s builds', (name) => {
  test('follows the schemas of the oldest and the newest supported Kubernetes', async () => {
    const ofKubernetes = built[name]!.filter(({ apiVersion }) => apiVersion !== OF_CLOUDNATIVEPG)
    expect(ofKubernetes.length).toBeGreaterThan(8)
    await validate('built.yaml', ofKubernetes)
  })

  test('follows the resource definition of CloudNativePG', () => {
    const clusters = built[name]!.filter(({ apiVersion }) => apiVersion === OF_CLOUDNATIVEPG)
    expect(clusters.map(({ metadata }) => metadata.name)).toEqual(name === 'base' ? [] : ['verdict-database'])
    for (const cluster of clusters) {
      expect([followsDefinition(cluster), followsDefinition.errors]).toEqual([true, null])
    }
  })

  test('has no two resources of one name, and every selector finds pods', () => {
    const manifests = built[name]!
    const names = manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`)
    expect(names).toEqual([...new Set(names)])
    const labels = podsOf(manifests).map(({ metadata }) => metadata.labels)
    const selectors = manifests.flatMap(({ kind, spec }) => {
      if (kind === 'Service') return [spec.selector]
      return [spec?.selector?.matchLabels, spec?.podSelector?.matchLabels].filter(Boolean)
    })
    for (const selector of selectors) {
      expect([selector, labels.some((each) => has(each, selector))]).toEqual([selector, true])
    }
  })

  test('spreads the pods of each Deployment, and lets a drain end one of them at a time', () => {
    for (const deployment of built[name]!.filter(({ kind }) => kind === 'Deployment')) {
      const { template, selector } = deployment.spec
      for (const { labelSelector } of template.spec.topologySpreadConstraints) {
        expect(has(selector.matchLabels, labelSelector.matchLabels)).toBe(true)
        expect(labelSelector.matchLabels).toEqual(selector.matchLabels)
      }
      const budgets = built[name]!.filter(
        ({ kind, spec }) => kind === 'PodDisruptionBudget' && has(template.metadata.labels, spec.selector.matchLabels),
      )
      expect(budgets.map(({ spec }) => spec.maxUnavailable)).toEqual([1])
      expect(budgets[0].spec.selector).toEqual(selector)
    }
  })

  test('names every ConfigMap by a hash of its content', () => {
    const maps = built[name]!.filter(({ kind }) => kind === 'ConfigMap').map(({ metadata }) => metadata.name as string)
    for (const map of maps) expect(map).toMatch(/-[a-z0-9]{10}$/)
    const used = podsOf(built[name]!).flatMap(({ spec }) => [
      ...spec.containers.flatMap(({ envFrom = [] }: Manifest) =>
        envFrom.map(({ configMapRef }: Manifest) => configMapRef),
      ),
      ...spec.volumes.flatMap(({ configMap }: Manifest) => configMap ?? []),
    ])
    const missing = used.filter((reference) => !maps.includes(reference.name))
    for (const { name, optional } of missing) expect([name, optional]).toEqual(['verdict-smtp', true])
    for (const map of maps) expect(used.map((reference) => reference.name)).toContain(map)
  })
})

test('a misspelt name fails the validation', async () => {
  const wrong = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'a' }, spec: { selectors: {} } }
  await expect(validate('wrong.yaml', [wrong])).rejects.toMatchObject({
    stdout: expect.stringContaining('selectors'),
  })
  const cluster = named(built['three-machines']!, 'Cluster', 'verdict-database')
  const { bootstrap, ...others } = cluster.spec
  expect(followsDefinition({ ...cluster, spec: { ...others, bootstraps: bootstrap } })).toBe(false)
  expect(followsDefinition({ ...cluster, spec: { ...cluster.spec, instances: 'three' } })).toBe(false)
})

test('the example of the Secret follows the schemas', async () => {
  await validate('secret.yaml', [parse(await readFile(join(KUBERNETES, 'secret.example.yaml'), 'utf8'))])
})

test('on three machines, any pod of Temporal may be lost, and the HorizontalPodAutoscaler counts the API', () => {
  const manifests = built['three-machines']!
  for (const service of ['frontend', 'history', 'matching', 'worker']) {
    expect(named(manifests, 'Deployment', `temporal-${service}`).spec.replicas).toBe(2)
  }
  const api = named(manifests, 'Deployment', 'verdict-api')
  expect(api.spec).not.toHaveProperty('replicas')
  const { scaleTargetRef } = named(manifests, 'HorizontalPodAutoscaler', 'verdict-api').spec
  expect(scaleTargetRef).toEqual({ apiVersion: api.apiVersion, kind: api.kind, name: api.metadata.name })
  expect(named(manifests, 'Cluster', 'verdict-database').spec).toMatchObject({
    instances: 3,
    postgresql: { synchronous: { number: 1, dataDurability: 'required' } },
    managed: { roles: [{ name: 'temporal', createdb: true }] },
  })
})

test('on one machine, no commit waits for a standby, and a rollout still finds a second API pod', () => {
  const manifests = built['one-machine']!
  const { instances, postgresql } = named(manifests, 'Cluster', 'verdict-database').spec
  expect([instances, postgresql.synchronous]).toEqual([1, undefined])
  const replicas = (name: string) => named(manifests, 'Deployment', name).spec.replicas
  expect([replicas('verdict-api'), replicas('verdict-worker'), replicas('temporal-history')]).toEqual([2, 1, 1])
})

test.each(['one-machine', 'three-machines'])('%s leads the service to its Temporal and its database', (name) => {
  const manifests = built[name]!
  const settings = manifests.find(({ kind, data }) => kind === 'ConfigMap' && data.TEMPORAL_ADDRESS).data
  const [host, port] = settings.TEMPORAL_ADDRESS.split(':')
  const frontend = named(manifests, 'Service', host)
  expect(frontend.spec.ports).toMatchObject([{ port: Number(port), targetPort: 'rpc' }])
  const [{ metadata, spec }] = podsOf(manifests).filter((pod) => has(pod.metadata.labels, frontend.spec.selector))
  expect(metadata.labels['app.kubernetes.io/component']).toBe('frontend')
  expect(spec.containers[0].ports).toContainEqual({ name: 'rpc', containerPort: Number(port) })
  const ofTemporal = manifests.find(({ kind, data }) => kind === 'ConfigMap' && data.POSTGRES_SEEDS).data
  const cluster = named(manifests, 'Cluster', 'verdict-database')
  expect(ofTemporal.POSTGRES_SEEDS).toBe(`${cluster.metadata.name}-rw`)
})

test('PostgreSQL has connections for the most API pods, all workers and Temporal', () => {
  const manifests = built['three-machines']!
  const { maxReplicas } = named(manifests, 'HorizontalPodAutoscaler', 'verdict-api').spec
  const workers = named(manifests, 'Deployment', 'verdict-worker').spec.replicas
  const { SQL_MAX_CONNS, SQL_VIS_MAX_CONNS } = manifests.find(
    ({ kind, data }) => kind === 'ConfigMap' && data.SQL_MAX_CONNS,
  ).data
  const services = manifests.filter(
    ({ kind, spec }) => kind === 'Deployment' && spec.template.metadata.labels['app.kubernetes.io/name'] === 'temporal',
  )
  const perProcess = Number(SQL_MAX_CONNS) + Number(SQL_VIS_MAX_CONNS)
  // A rollout starts one more pod of each Deployment.
  const ofTemporal = services.reduce((sum, { spec }) => sum + (spec.replicas + 1) * perProcess, 0)
  const ofVerdict = API_CONNECTIONS * (maxReplicas + 1) + WORKER_CONNECTIONS * (workers + 1)
  const { max_connections } = named(manifests, 'Cluster', 'verdict-database').spec.postgresql.parameters
  expect(ofVerdict + ofTemporal + FOR_OTHERS).toBeLessThan(Number(max_connections))
})

test("Temporal's server reads every variable that it gets", async () => {
  const known = await temporalVariables()
  const manifests = built['three-machines']!
  const { data } = manifests.find(({ kind, data }) => kind === 'ConfigMap' && data.POSTGRES_SEEDS)
  const [container] = named(manifests, 'Deployment', 'temporal-history').spec.template.spec.containers
  const set = [...Object.keys(data), ...container.env.map(({ name }: Manifest) => name)]
  for (const name of set) expect(known).toContain(name)
})

test("the guide's kustomization sets the registry, and the values of the operator", () => {
  const manifests = built["the guide's"]!
  const images = podsOf(manifests).flatMap(({ spec }) => spec.containers.map(({ image }: Manifest) => image as string))
  const ours = images.filter((image) => image.endsWith(`/verdict:${VERSION}`))
  expect(ours).toHaveLength(3)
  for (const image of ours) expect(image).not.toContain('registry.example')
  const settings = manifests.find(({ kind, data }) => kind === 'ConfigMap' && data.PUBLIC_URL).data
  expect(Object.keys(settings)).toEqual(
    expect.arrayContaining(['PUBLIC_URL', 'TEMPORAL_ADDRESS', 'TRUST_PROXY', 'SMTP_HELO_NAME']),
  )
})

async function clusterDefinition(): Promise<ValidateFunction> {
  const signal = AbortSignal.timeout(DOWNLOAD_MS)
  const go = await goToolchain({ report: () => {}, signal, cacheDir: cacheFolder(process.env) })
  const env = { ...process.env, ...go.env }
  const { stdout } = await run(go.program, ['mod', 'download', '-json', CLOUDNATIVEPG], { cwd: root, env })
  const file = join(JSON.parse(stdout).Dir, 'config/crd/bases/postgresql.cnpg.io_clusters.yaml')
  const definition = parse(await readFile(file, 'utf8'))
  const [version] = definition.spec.versions
  expect(`${definition.spec.group}/${version.name}`).toBe(OF_CLOUDNATIVEPG)
  expect(definition.spec.names.kind).toBe('Cluster')
  return new Ajv({ strict: false, validateFormats: false }).compile(strict(version.schema.openAPIV3Schema))
}

interface Schema {
  properties?: Record<string, Schema>
  items?: Schema
  additionalProperties?: Schema | boolean
  [word: string]: unknown
}

/** Kubernetes drops fields that a definition does not have. The schema refuses them. */
function strict(schema: Schema): Schema {
  const { properties, items, additionalProperties } = schema
  return {
    ...schema,
    ...(items ? { items: strict(items) } : {}),
    ...(typeof additionalProperties === 'object' ? { additionalProperties: strict(additionalProperties) } : {}),
    ...(properties
      ? {
          properties: Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, strict(each)])),
          additionalProperties: false,
        }
      : {}),
  }
}
