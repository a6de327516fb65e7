import { execFile } from 'node:child_process'
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { Ajv } from 'ajv'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { goToolchain } from '../../dev/temporal/go-toolchain.ts'
import { cacheFolder } from '../../dev/temporal/install-options.ts'
import { openFolder } from './daemon.ts'

// compose.yaml and the Kubernetes manifests, read by the library of Docker Compose and by Kubernetes' schemas.

const DOWNLOAD_MS = 300_000
const run = promisify(execFile)

let root: string

beforeAll(async () => {
  root = await openFolder('deploy')
})

afterAll(() => rm(root, { recursive: true }))

test(
  'Docker Compose reads compose.yaml, and refuses one with a wrong name',
  async () => {
    const signal = AbortSignal.timeout(DOWNLOAD_MS)
    const go = await goToolchain({ report: () => {}, signal, cacheDir: cacheFolder(process.env) })
    const program = join(root, 'compose-config')
    const env = { ...process.env, ...go.env, CGO_ENABLED: '0' }
    await run(go.program, ['build', '-o', program, '.'], { cwd: 'test/real/compose', env })
    const project = join(root, 'project')
    await mkdir(project)
    await cp('compose.yaml', join(project, 'compose.yaml'))
    await cp('deploy', join(project, 'deploy'), { recursive: true })
    const values = [
      'PUBLIC_URL=https://mail.verdict.example',
      'DATA_REGION=eu',
      'SMTP_PUBLIC_ADDRESSES=192.0.2.25',
      'SMTP_HELO_NAME=mail',
    ]
    const config = (...files: string[]) =>
      run(program, files, {
        cwd: project,
        env: { ...process.env, ...Object.fromEntries(values.map((v) => v.split('='))) },
      })

    const { stdout } = await config('compose.yaml')
    expect(stdout).toContain('PUBLIC_URL: https://mail.verdict.example')
    const { stdout: withSmtp } = await config('compose.yaml', 'deploy/compose/smtp.yaml')
    const [, api = ''] = /^ {2}api-1:\n([\s\S]*?)^ {2}api-2:/m.exec(withSmtp) ?? []
    expect(api).toMatch(/published: "25"[\s\S]*published: "587"/)
    for (const secret of ['database-url', 'encryption-keys', 'tls-certificate', 'tls-key']) {
      expect(api).toContain(`source: ${secret}`)
    }
    // Without the values that it asks for.
    await expect(run(program, ['compose.yaml'], { cwd: project })).rejects.toThrow(/required variable PUBLIC_URL/)
    await writeFile(join(project, 'wrong.yaml'), 'services: { a: { image: b:1.0, depend_on: [c] } }')
    await expect(config('wrong.yaml')).rejects.toThrow(/depend_on/)
  },
  DOWNLOAD_MS,
)

test(
  'the manifests follow the schemas of the oldest and the newest supported Kubernetes, and nothing is misspelt',
  async () => {
    const python = join(root, 'python', 'bin')
    await run('/usr/bin/python3', ['-m', 'venv', join(root, 'python')])
    const requirements = resolve('test/real/kubernetes-requirements.txt')
    await run(`${python}/pip`, ['install', '--quiet', '--no-deps', '--requirement', requirements])
    const files = ['api', 'configuration', 'migrate', 'network', 'secret.example', 'smtp', 'worker']
    const paths = files.map((name) => `deploy/kubernetes/${name}.yaml`)
    const validate = (version: string, ...paths: string[]) =>
      run(`${python}/kubernetes-validate`, ['--strict', '-k', version, ...paths])
    for (const version of ['1.33', '1.37']) await validate(version, ...paths)
    const wrong = join(root, 'wrong.yaml')
    await writeFile(wrong, 'apiVersion: v1\nkind: Service\nmetadata: { name: a }\nspec: { selectors: {} }\n')
    await expect(validate('1.37', wrong)).rejects.toMatchObject({ stdout: expect.stringContaining('selectors') })
  },
  DOWNLOAD_MS,
)

// A release that the operator's manifest was read with. Its resource definitions come with its Go module.
const CLOUDNATIVEPG = 'github.com/cloudnative-pg/cloudnative-pg@v1.28.0'

test(
  'the PostgreSQL of Kubernetes follows the resource definition of CloudNativePG, and nothing is misspelt',
  async () => {
    const signal = AbortSignal.timeout(DOWNLOAD_MS)
    const go = await goToolchain({ report: () => {}, signal, cacheDir: cacheFolder(process.env) })
    const env = { ...process.env, ...go.env }
    const { stdout } = await run(go.program, ['mod', 'download', '-json', CLOUDNATIVEPG], { cwd: root, env })
    const definition = parse(
      await readFile(join(JSON.parse(stdout).Dir, 'config/crd/bases/postgresql.cnpg.io_clusters.yaml'), 'utf8'),
    )
    const [version] = definition.spec.versions
    const follows = new Ajv({ strict: false, validateFormats: false }).compile(strict(version.schema.openAPIV3Schema))
    const manifest = parse(await readFile('deploy/kubernetes/cloudnativepg.yaml', 'utf8'))
    expect(manifest).toMatchObject({
      apiVersion: `${definition.spec.group}/${version.name}`,
      kind: definition.spec.names.kind,
    })
    expect([follows(manifest), follows.errors]).toEqual([true, null])
    const { bootstrap, ...others } = manifest.spec
    expect(follows({ ...manifest, spec: { ...others, bootstraps: bootstrap } })).toBe(false)
    expect(follows({ ...manifest, spec: { ...manifest.spec, instances: 'three' } })).toBe(false)
  },
  DOWNLOAD_MS,
)

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
