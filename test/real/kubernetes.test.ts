import { execFile } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { cp, mkdir, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { Ajv, type ValidateFunction } from 'ajv'
import { beforeAll, describe, expect, test } from 'vitest'
import { parse, parseAllDocuments, stringify, type Tags } from 'yaml'
import { goToolchain } from '../../dev/temporal/go-toolchain.ts'
import { cacheFolder } from '../../dev/temporal/install-options.ts'
import { VARIABLES, type Variable } from '../../server/config/variables.ts'
import { COMMANDS, VERSION } from '../deploy/environment.ts'
import { snippets } from '../docs/snippets.ts'
import { openFolder } from './daemon.ts'
import { kustomizeProgram } from './kustomize.ts'
import { installRequirements } from './pythons.ts'
import { temporalVariables } from './temporal-variables.ts'

// deploy/kubernetes as kustomize builds it, against Kubernetes' schemas and the resource definitions of the operators.

// biome-ignore lint/suspicious/noExplicitAny: a manifest is checked against schemas.
type Manifest = any

const DOWNLOAD_MS = 600_000
const KUBERNETES = resolve('deploy/kubernetes')
/** The oldest and the newest supported Kubernetes whose schemas are at hand. */
const VERSIONS = ['1.33', '1.37']
/** Releases of the operators. Their resource definitions come with their Go modules. */
const DEFINITIONS: Record<string, string> = {
  'github.com/cloudnative-pg/cloudnative-pg@v1.28.0':
    'config/crd/bases/postgresql.cnpg.io_{clusters,scheduledbackups}.yaml',
  'github.com/cloudnative-pg/plugin-barman-cloud@v0.15.0': 'config/crd/bases/barmancloud.cnpg.io_objectstores.yaml',
  'github.com/prometheus-operator/prometheus-operator@v0.85.0':
    'example/prometheus-operator-crd/monitoring.coreos.com_{podmonitors,prometheusrules}.yaml',
}
const SIZES = ['small', 'medium', 'large']
/** What readers have who follow the guides and add every component. */
const installed = (size: string) => `${size} with all components`
const RESTORED = 'a restored one'
const BUILDS = ['base', ...SIZES, ...SIZES.map(installed), RESTORED]
/** The most connections of a process to PostgreSQL (docs/scaling.md), and what the operator, standbys and you need. */
const API_CONNECTIONS = 13
const WORKER_CONNECTIONS = 10
const FOR_OTHERS = 20
const DAY_SECONDS = 86_400
const run = promisify(execFile)
const GUIDE = readFileSync('docs/installing.md', 'utf8')

let root: string
let kustomize: string
let python: string
/** By apiVersion and kind. */
const definitions = new Map<string, ValidateFunction>()
/** What each kustomization builds, by its name. */
const built: Record<string, Manifest[]> = {}

beforeAll(async () => {
  root = await openFolder('kubernetes')
  kustomize = await kustomizeProgram()
  python = await installRequirements('test/real/kubernetes-requirements.txt', root)
  for (const [module, files] of Object.entries(DEFINITIONS)) await readDefinitions(module, files)
  await cp('deploy', join(root, 'deploy'), { recursive: true })
  built.base = await build(join(KUBERNETES, 'base'))
  for (const size of SIZES) {
    built[size] = await build(join(KUBERNETES, 'sizes', size))
    built[installed(size)] = await buildOf(size, ownKustomization(size))
  }
  const restore = yamlOf('docs/backup.md', 'Restore with CloudNativePG')
  built[RESTORED] = await buildOf('restored', joined(ownKustomization('medium'), restore))
}, DOWNLOAD_MS)

async function build(folder: string): Promise<Manifest[]> {
  const { stdout } = await run(kustomize, ['build', folder], { maxBuffer: 2 ** 24 })
  return parseAllDocuments(stdout, { version: '1.1', customTags: withoutTimes }).map((document) => document.toJS())
}

/** As kubectl reads it: a time is a string. */
const withoutTimes = (tags: Tags) =>
  tags.filter((tag) => typeof tag === 'string' || tag.tag !== 'tag:yaml.org,2002:timestamp')

/** Builds a kustomization beside a copy of deploy/, with a sample of each secret. */
async function buildOf(name: string, kustomization: Manifest): Promise<Manifest[]> {
  const folder = join(root, name)
  for (const { files = [], envs = [] } of kustomization.secretGenerator) {
    for (const file of [...files, ...envs]) {
      const path = join(folder, file.split('=').at(-1))
      await mkdir(dirname(path), { recursive: true })
      await writeFile(path, SAMPLES[basename(path)] ?? 'secret')
    }
  }
  await writeFile(join(folder, 'kustomization.yaml'), stringify(kustomization))
  return build(folder)
}

const SAMPLES: Record<string, string> = {
  'database-url': /"(postgres:.*)" > database-url/.exec(GUIDE)![1]!,
  'backup.env': 'ACCESS_KEY_ID=a\nACCESS_SECRET_KEY=b\n',
}

/** The YAML of a guide that begins with a comment. */
const yamlOf = (file: string, comment: string): Manifest =>
  parse(snippets(readFileSync(file, 'utf8')).find(({ text }) => text.trimStart().startsWith(`# ${comment}\n`))!.text)

/** The kustomization of the guides with this size, and every component that the size does not have. */
function ownKustomization(size: string): Manifest {
  const guide = yamlOf('docs/installing.md', 'installation/kustomization.yaml')
  const { components } = parse(readFileSync(join(KUBERNETES, 'sizes', size, 'kustomization.yaml'), 'utf8'))
  const has = components.map((path: string) => basename(path))
  const others = globSync(`${KUBERNETES}/components/*`).map((path) => basename(path))
  return joined(yamlOf('docs/backup.md', 'Back up with CloudNativePG'), {
    ...guide,
    resources: [`../deploy/kubernetes/sizes/${size}`],
    components: others.filter((name) => !has.includes(name)).map((name) => `../deploy/kubernetes/components/${name}`),
  })
}

/** Lists of both, one after the other. */
const joined = (first: Manifest, second: Manifest): Manifest => ({
  ...first,
  ...Object.fromEntries(
    Object.entries(second).map(([key, value]) => [
      key,
      Array.isArray(value) ? [...(first[key] ?? []), ...value] : value,
    ]),
  ),
})

const named = (manifests: Manifest[], kind: string, name: string): Manifest => {
  const found = manifests.filter(({ metadata, ...manifest }) => manifest.kind === kind && metadata.name === name)
  expect([kind, name, found.length]).toEqual([kind, name, 1])
  return found[0]
}
const ofKind = (manifests: Manifest[], kind: string) => manifests.filter((manifest) => manifest.kind === kind)
const podsOf = (manifests: Manifest[]): Manifest[] =>
  manifests.filter(({ kind }) => kind === 'Deployment' || kind === 'Job').map(({ spec }) => spec.template)
const containersOf = (manifests: Manifest[]): Manifest[] =>
  podsOf(manifests).flatMap(({ spec }) => [...(spec.initContainers ?? []), ...spec.containers])
const has = (labels: Record<string, string>, selector: Record<string, string>) =>
  Object.entries(selector).every(([name, value]) => labels[name] === value)
const definitionOf = ({ apiVersion, kind }: Manifest) => definitions.get(`${apiVersion} ${kind}`)

async function validate(file: string, manifests: Manifest[]): Promise<void> {
  const path = join(root, file)
  await writeFile(path, manifests.map((manifest) => stringify(manifest)).join('---\n'))
  for (const version of VERSIONS) await run(`${python}/kubernetes-validate`, ['--strict', '-k', version, path])
}

describe.each(BUILDS)('what %s builds', (name) => {
  test('follows the schemas of the oldest and the newest supported Kubernetes', async () => {
    const ofKubernetes = built[name]!.filter((manifest) => !definitionOf(manifest))
    expect(ofKubernetes.length).toBeGreaterThan(8)
    await validate('built.yaml', ofKubernetes)
  })

  test('follows the resource definitions of the operators', () => {
    const ofOperators = built[name]!.filter(definitionOf)
    const everything = ['Cluster', 'ObjectStore', 'PodMonitor', 'PrometheusRule', 'ScheduledBackup']
    const kinds = name === 'base' ? [] : SIZES.includes(name) ? ['Cluster'] : everything
    expect(ofOperators.map(({ kind }) => kind).toSorted()).toEqual(kinds)
    for (const manifest of ofOperators) {
      const follows = definitionOf(manifest)!
      expect([follows(manifest), follows.errors]).toEqual([true, null])
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
    for (const { spec } of ofKind(manifests, 'Deployment')) {
      expect(has(spec.template.metadata.labels, spec.selector.matchLabels)).toBe(true)
    }
  })

  test('gives each container its requests and a limit of memory, and no rights', () => {
    for (const { spec } of podsOf(built[name]!)) {
      expect(spec).toMatchObject({
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      })
    }
    for (const { securityContext } of containersOf(built[name]!)) {
      expect(securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      })
    }
    const text = expect.any(String)
    const clusters = ofKind(built[name]!, 'Cluster').map(({ spec }) => spec)
    for (const { resources } of [...containersOf(built[name]!), ...clusters]) {
      expect(resources).toEqual({ requests: { cpu: text, memory: text }, limits: { memory: text } })
    }
  })

  test('probes each container of a Deployment, also for readiness when a Service leads to it', () => {
    const services = ofKind(built[name]!, 'Service').map(({ spec }) => spec.selector)
    for (const { spec } of ofKind(built[name]!, 'Deployment')) {
      const { labels } = spec.template.metadata
      const probes = ['startupProbe', 'livenessProbe']
      if (services.some((selector) => has(labels, selector))) probes.push('readinessProbe')
      for (const container of spec.template.spec.containers)
        expect(Object.keys(container)).toEqual(expect.arrayContaining(probes))
    }
  })

  test('refers only to what it has, and in a size alone to Secrets', () => {
    const manifests = built[name]!
    const missing = referencesIn(manifests).filter(({ kind, name, keys, optional }) => {
      const found = manifests.find((manifest) => manifest.kind === kind && manifest.metadata.name === name)
      return found ? keys.some((key) => !(key in found.data)) : !optional
    })
    const isWhole = name.includes(' ')
    expect(missing.filter(({ kind }) => isWhole || kind !== 'Secret')).toEqual([])
    expect(hostsIn(manifests).filter((host) => !serviceNames(manifests).includes(host))).toEqual([])
  })

  test('sets only variables that the product has', () => {
    const manifests = built[name]!
    const ours = containersOf(manifests).filter(({ image }) => image.endsWith(`/verdict:${VERSION}`))
    expect(ours).toHaveLength(4)
    const set = ours.flatMap(({ env, envFrom = [] }) => [
      ...env.map(({ name }: Manifest) => name),
      ...envFrom.flatMap(({ configMapRef }: Manifest) =>
        Object.keys(manifests.find(({ metadata }) => metadata.name === configMapRef.name)?.data ?? {}),
      ),
    ])
    const known = Object.values(VARIABLES).flatMap(({ name, secret }: Variable<unknown>) =>
      secret ? [name, `${name}_FILE`] : [name],
    )
    expect(set.filter((each) => !known.includes(each))).toEqual([])
  })

  test('checks the upgrade before it migrates, with the same image', () => {
    const { initContainers, containers } = named(built[name]!, 'Job', 'verdict-migrate').spec.template.spec
    const [check, migrate] = [...initContainers, ...containers]
    expect(check.command.at(-1)).toMatch(/^verdict upgrade check\b/)
    expect(migrate.command.join(' ')).toBe(COMMANDS.migrate)
    expect([check.image, check.env]).toEqual([migrate.image, migrate.env])
  })

  test('spreads the pods of each Deployment, and lets a drain end one of them at a time', () => {
    for (const { spec } of ofKind(built[name]!, 'Deployment')) {
      const { template, selector } = spec
      for (const { labelSelector } of template.spec.topologySpreadConstraints) {
        expect(has(selector.matchLabels, labelSelector.matchLabels)).toBe(true)
        expect(labelSelector.matchLabels).toEqual(selector.matchLabels)
      }
      const budgets = ofKind(built[name]!, 'PodDisruptionBudget').filter(({ spec }) =>
        has(template.metadata.labels, spec.selector.matchLabels),
      )
      expect(budgets.map(({ spec }) => spec.maxUnavailable)).toEqual([1])
      expect(budgets[0].spec.selector).toEqual(selector)
    }
  })

  test('names every ConfigMap of a pod by a hash of its content', () => {
    const references = referencesIn(podsOf(built[name]!)).filter(({ kind }) => kind === 'ConfigMap')
    for (const { metadata } of ofKind(built[name]!, 'ConfigMap')) {
      const isUsed = references.some((reference) => reference.name === metadata.name)
      expect([metadata.name, isUsed]).toEqual([metadata.name, !metadata.labels.grafana_dashboard])
      if (isUsed) expect(metadata.name).toMatch(/-[a-z0-9]{10}$/)
    }
  })
})

interface Reference {
  kind: string
  name: string
  keys: string[]
  optional: boolean
}

/** The members of manifests that name another object. */
const REFERENCES: Record<string, string> = {
  secret: 'Secret',
  secretRef: 'Secret',
  secretKeyRef: 'Secret',
  passwordSecret: 'Secret',
  accessKeyId: 'Secret',
  secretAccessKey: 'Secret',
  configMap: 'ConfigMap',
  configMapRef: 'ConfigMap',
  configMapKeyRef: 'ConfigMap',
  persistentVolumeClaim: 'PersistentVolumeClaim',
  cluster: 'Cluster',
  barmanObjectName: 'ObjectStore',
}

function referencesIn(value: Manifest, member = ''): Reference[] {
  const inner =
    typeof value === 'object' && value !== null
      ? Object.entries(value).flatMap(([key, each]) => referencesIn(each, key))
      : []
  const kind = member === 'scaleTargetRef' ? value.kind : REFERENCES[member]
  if (!kind) return inner
  const {
    name,
    secretName,
    claimName,
    key,
    items = [],
    optional = false,
  } = typeof value === 'string' ? { name: value } : value
  const keys = [key, ...items.map((item: Manifest) => item.key)].filter(Boolean)
  return [...inner, { kind, name: name ?? secretName ?? claimName, keys, optional }]
}

/** Hosts without a domain in the variables that name a server: they are Services of the same namespace. */
function hostsIn(manifests: Manifest[]): string[] {
  const maps = ofKind(manifests, 'ConfigMap').flatMap(({ data }) => Object.entries<string>(data))
  const secrets = ofKind(manifests, 'Secret').flatMap(({ data }) =>
    Object.entries<string>(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()] as const),
  )
  const env = containersOf(manifests).flatMap(({ env = [] }) => env.map(({ name, value }: Manifest) => [name, value]))
  return [...maps, ...secrets, ...env].flatMap(([name, value]) => {
    if (!/(?:_ADDRESS|_SEEDS|SQL_HOST|^database-url)$/.test(name)) return []
    return /^(?:\w+:\/\/(?:[^/]*@)?)?([a-z][a-z0-9-]*)(?::\d+)?(?:\/|$)/.exec(value)?.[1] ?? []
  })
}

/** The Services of a build, and those that the operator creates for a Cluster. */
const serviceNames = (manifests: Manifest[]): string[] => [
  ...ofKind(manifests, 'Service').map(({ metadata }) => metadata.name),
  ...ofKind(manifests, 'Cluster').flatMap(({ metadata }) => ['rw', 'ro', 'r'].map((end) => `${metadata.name}-${end}`)),
]

test('a misspelt name fails the validation, and a missing object is found', async () => {
  const wrong = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'a' }, spec: { selectors: {} } }
  await expect(validate('wrong.yaml', [wrong])).rejects.toMatchObject({
    stdout: expect.stringContaining('selectors'),
  })
  const cluster = named(built.medium!, 'Cluster', 'verdict-database')
  const follows = definitionOf(cluster)!
  const { bootstrap, ...others } = cluster.spec
  expect(follows({ ...cluster, spec: { ...others, bootstraps: bootstrap } })).toBe(false)
  expect(follows({ ...cluster, spec: { ...cluster.spec, instances: 'three' } })).toBe(false)
  const references = referencesIn(built[installed('medium')]!).map(({ kind, name }) => `${kind} ${name}`)
  const some = ['Secret verdict', 'Secret temporal-database', 'Secret verdict-backup', 'ObjectStore verdict-backup']
  expect(references).toEqual(expect.arrayContaining([...some, 'Cluster verdict-database', 'Deployment verdict-api']))
  expect(new Set(hostsIn(built[installed('medium')]!))).toEqual(new Set(['temporal-frontend', 'verdict-database-rw']))
})

test('in medium and large, any pod of Temporal may be lost, and a commit waits for a standby', () => {
  for (const size of ['medium', 'large']) {
    for (const service of ['frontend', 'history', 'matching', 'worker'])
      expect(named(built[size]!, 'Deployment', `temporal-${service}`).spec.replicas).toBe(2)
    expect(named(built[size]!, 'Cluster', 'verdict-database').spec).toMatchObject({
      instances: 3,
      postgresql: { synchronous: { number: 1, dataDurability: 'required' } },
      managed: { roles: [{ name: 'temporal', createdb: true }] },
    })
  }
})

test('in small, no commit waits for a standby, and a second API pod serves when one crashes', () => {
  const { instances, postgresql } = named(built.small!, 'Cluster', 'verdict-database').spec
  expect([instances, postgresql.synchronous]).toEqual([1, undefined])
  const replicas = (name: string) => named(built.small!, 'Deployment', name).spec.replicas
  expect([replicas('verdict-api'), replicas('verdict-worker'), replicas('temporal-history')]).toEqual([2, 1, 1])
})

/** The autoscaler's number of API pods, or that of the Deployment. */
function apiReplicas(manifests: Manifest[], bound: 'minReplicas' | 'maxReplicas'): number {
  const [autoscaler] = ofKind(manifests, 'HorizontalPodAutoscaler')
  return autoscaler?.spec[bound] ?? named(manifests, 'Deployment', 'verdict-api').spec.replicas
}

const UNITS: Record<string, number> = { '': 1, m: 1e-3, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40 }
function amountOf(quantity: string): number {
  const [, number, unit] = /^(\d+)(\w*)$/.exec(quantity)!
  return Number(number) * UNITS[unit!]!
}

describe.each(SIZES)('the guide on %s', (size) => {
  const row = GUIDE.split('\n').find((line) => line.startsWith(`| \`${size}\``))!
  const cells = row.split('|').map((cell) => cell.trim().replaceAll(',', ''))
  const [, , , perSecond, api, workers, instances, cores, gib] = cells.map(Number)

  test('has its pods and what they request', () => {
    const manifests = built[size]!
    const { spec } = named(manifests, 'Cluster', 'verdict-database')
    const deployments = ofKind(manifests, 'Deployment').map(({ metadata, spec }) => ({
      count: metadata.name === 'verdict-api' ? apiReplicas(manifests, 'minReplicas') : spec.replicas,
      ...spec.template.spec.containers[0].resources,
    }))
    const all = [...deployments, { count: spec.instances, ...spec.resources }]
    const sum = (what: 'cpu' | 'memory') =>
      all.reduce((total, { count, requests }) => total + count * amountOf(requests[what]), 0)
    expect([api, workers, instances]).toEqual([
      apiReplicas(manifests, 'minReplicas'),
      named(manifests, 'Deployment', 'verdict-worker').spec.replicas,
      spec.instances,
    ])
    expect([cores, gib]).toEqual([sum('cpu'), sum('memory') / UNITS.Gi!])
  })

  test('has a rate whose history fits on the disk, and its newest indexes into memory', () => {
    const { storage, resources } = named(built[size]!, 'Cluster', 'verdict-database').spec
    const number = (pattern: RegExp) => Number(pattern.exec(GUIDE)![1]!.replace(',', ''))
    const needed = {
      disk: perSecond! * 90 * DAY_SECONDS * number(/\((\S+)\s+KB\s+a\s+message\)/) * 1_000,
      memory: perSecond! * 2 * DAY_SECONDS * number(/\((\S+)\s+bytes\s+a\s+message\)/),
    }
    expect(cells[9]).toBe(storage.size)
    expect(amountOf(storage.size)).toBeGreaterThan(needed.disk)
    expect(amountOf(resources.requests.memory)).toBeGreaterThan(needed.memory)
  })
})

test.each(SIZES)('%s leads the service to its Temporal and its database', (name) => {
  const manifests = built[name]!
  const settings = manifests.find(({ kind, data }) => kind === 'ConfigMap' && data.TEMPORAL_ADDRESS).data
  const [host, port] = settings.TEMPORAL_ADDRESS.split(':')
  const frontend = named(manifests, 'Service', host)
  expect(frontend.spec.ports).toMatchObject([{ port: Number(port), targetPort: 'rpc' }])
  const [{ metadata, spec }] = podsOf(manifests).filter((pod) => has(pod.metadata.labels, frontend.spec.selector))
  expect(metadata.labels['app.kubernetes.io/component']).toBe('frontend')
  expect(spec.containers[0].ports).toContainEqual({ name: 'rpc', containerPort: Number(port) })
})

test.each(SIZES.map(installed))('PostgreSQL of %s has connections for the most pods', (name) => {
  const manifests = built[name]!
  const workers = named(manifests, 'Deployment', 'verdict-worker').spec.replicas
  const { SQL_MAX_CONNS, SQL_VIS_MAX_CONNS } = manifests.find(
    ({ kind, data }) => kind === 'ConfigMap' && data.SQL_MAX_CONNS,
  ).data
  const services = ofKind(manifests, 'Deployment').filter(
    ({ spec }) => spec.template.metadata.labels['app.kubernetes.io/name'] === 'temporal',
  )
  const perProcess = Number(SQL_MAX_CONNS) + Number(SQL_VIS_MAX_CONNS)
  // A rollout starts one more pod of each Deployment.
  const ofTemporal = services.reduce((sum, { spec }) => sum + (spec.replicas + 1) * perProcess, 0)
  const ofVerdict = API_CONNECTIONS * (apiReplicas(manifests, 'maxReplicas') + 1) + WORKER_CONNECTIONS * (workers + 1)
  const { max_connections } = named(manifests, 'Cluster', 'verdict-database').spec.postgresql.parameters
  expect(ofVerdict + ofTemporal + FOR_OTHERS).toBeLessThan(Number(max_connections))
})

test("Temporal's server reads every variable that it gets", async () => {
  const known = await temporalVariables()
  const { data } = built.medium!.find(({ kind, data }) => kind === 'ConfigMap' && data.POSTGRES_SEEDS)
  const [container] = named(built.medium!, 'Deployment', 'temporal-history').spec.template.spec.containers
  const set = [...Object.keys(data), ...container.env.map(({ name }: Manifest) => name)]
  for (const name of set) expect(known).toContain(name)
})

test("the guide's kustomization sets the registry, and the values of the operator", () => {
  const manifests = built[installed('medium')]!
  for (const { image } of containersOf(manifests)) expect(image).not.toContain('registry.example')
  const settings = manifests.find(({ kind, data }) => kind === 'ConfigMap' && data.PUBLIC_URL).data
  expect(Object.keys(settings)).toEqual(
    expect.arrayContaining(['PUBLIC_URL', 'TEMPORAL_ADDRESS', 'TRUST_PROXY', 'SMTP_HELO_NAME']),
  )
})

/** Downloads a Go module, and compiles the schemas of its resource definitions. */
async function readDefinitions(module: string, files: string): Promise<void> {
  const signal = AbortSignal.timeout(DOWNLOAD_MS)
  const go = await goToolchain({ report: () => {}, signal, cacheDir: cacheFolder(process.env) })
  const env = { ...process.env, ...go.env }
  const { stdout } = await run(go.program, ['mod', 'download', '-json', module], { cwd: root, env })
  for (const file of globSync(join(JSON.parse(stdout).Dir, files))) {
    // Go's flag for the rest of a pattern is a group in JavaScript.
    const { spec } = parse(readFileSync(file, 'utf8').replace(/\(\?i\)(\S+)\$/g, '(?i:$1)$'))
    const [version] = spec.versions
    const ajv = new Ajv({ strict: false, validateFormats: false })
    definitions.set(
      `${spec.group}/${version.name} ${spec.names.kind}`,
      ajv.compile(strict(version.schema.openAPIV3Schema)),
    )
  }
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
