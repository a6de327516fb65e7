import { existsSync } from 'node:fs'
import { cp, readFile, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { goToolchain } from '../../dev/temporal/go-toolchain.ts'
import { cacheFolder } from '../../dev/temporal/install-options.ts'

// Clients are generated from the OpenAPI document as a user does it, without special options for this document.

const OPENAPI_GENERATOR = 'org.openapitools:openapi-generator-cli:7.25.0'
const OAPI_CODEGEN = 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2'
const OAPI_RUNTIME = ['github.com/oapi-codegen/runtime@v1.9.0']
const OGEN = 'github.com/ogen-go/ogen/cmd/ogen@v1.24.0'
const OGEN_RUNTIME = ['github.com/ogen-go/ogen@v1.24.0', 'go.opentelemetry.io/otel@v1.47.0']
const COMPILER = ['typescript@5.9.3', '@types/node@26.6.6']
const OPENAPI_TYPESCRIPT = ['openapi-typescript@7.13.0', 'openapi-fetch@0.17.0', ...COMPILER]
const ORVAL = ['orval@8.38.0', ...COMPILER]
const OPENAPI_PYTHON_CLIENT = 'openapi-python-client==0.29.1'

/** The programs of this version. */
export const PROGRAMS = resolve('test/real/clients')
const TSC =
  '--noEmit --strict --module nodenext --target es2024 --allowImportingTsExtensions --skipLibCheck --types node'

export interface Workplace {
  /** The folder of the programs that call the service with a client. */
  programs: string
  /** An empty folder. */
  folder: string
  /** The path of the OpenAPI document. */
  document: string
  /** The address of the service. */
  url: string
  /** Runs a program that must succeed, and returns its standard output. */
  run(cwd: string, command: string, ...args: string[]): Promise<string>
}

/** Generates a client, compiles it, runs the program that calls the service with it, and returns what that prints. */
type Generator = (workplace: Workplace) => Promise<string>

export const GENERATORS: Record<string, Generator> = {
  async 'openapi-generator Go'(workplace) {
    const client = await openApiGenerator(
      workplace,
      'go',
      ...['--package-name', 'verdict', '--git-host', 'verdict.example'],
    )
    const module = /^module (.*)$/m.exec(await readFile(join(client, 'go.mod'), 'utf8'))![1]!
    const main = await readFile(join(workplace.programs, 'main.go'), 'utf8')
    const program = join(client, 'program')
    await cp(join(workplace.programs, 'main.go'), join(program, 'main.go'), { recursive: true })
    await writeFile(join(program, 'main.go'), main.replace('verdict.example/client', module))
    // The generated tests need more packages than the client.
    await rm(join(client, 'test'), { recursive: true, force: true })
    const go = await goIn(workplace, client)
    await go('build', './...')
    return go('run', './program')
  },
  async 'openapi-generator Java'(workplace) {
    const client = await openApiGenerator(workplace, 'java')
    const goals = ['compile', 'dependency:copy-dependencies', '-DincludeScope=runtime']
    await workplace.run(client, 'mvn', '--quiet', '--batch-mode', ...goals)
    return workplace.run(
      client,
      'java',
      '-cp',
      'target/classes:target/dependency/*',
      join(workplace.programs, 'Main.java'),
    )
  },
  async 'openapi-generator Python'(workplace) {
    const client = await openApiGenerator(workplace, 'python')
    const bin = await python(workplace, client)
    return workplace.run(client, `${bin}/python`, join(workplace.programs, 'main.py'))
  },
  async 'openapi-generator PHP'(workplace) {
    const client = await openApiGenerator(workplace, 'php')
    return workplace.run(client, 'php', join(workplace.programs, 'main.php'))
  },
  async 'oapi-codegen'(workplace) {
    return goProgram(workplace, OAPI_CODEGEN, OAPI_RUNTIME, 'oapi-codegen.go', (bin, client) =>
      workplace.run(
        client,
        join(bin, 'oapi-codegen'),
        ...['-generate', 'types,client', '-package', 'verdict', '-o', 'verdict/verdict.go', workplace.document],
      ),
    )
  },
  async ogen(workplace) {
    return goProgram(workplace, OGEN, OGEN_RUNTIME, 'ogen.go', (bin, client) =>
      workplace.run(client, join(bin, 'ogen'), '--target', 'verdict', '--package', 'verdict', workplace.document),
    )
  },
  async 'openapi-typescript'(workplace) {
    const { client, bin } = await npmProject(workplace, 'openapi-typescript', OPENAPI_TYPESCRIPT, 'main.ts')
    await workplace.run(client, bin('openapi-typescript'), workplace.document, '--output', 'verdict.ts')
    await workplace.run(client, bin('tsc'), ...TSC.split(' '), 'main.ts')
    return workplace.run(client, process.execPath, 'main.ts')
  },
  async orval(workplace) {
    const { client, bin } = await npmProject(workplace, 'orval', ORVAL, 'orval.ts')
    const output = { target: 'verdict.ts', client: 'fetch', baseUrl: workplace.url }
    const configuration = { verdict: { input: workplace.document, output } }
    await writeFile(join(client, 'orval.config.mjs'), `export default ${JSON.stringify(configuration)}`)
    await workplace.run(client, bin('orval'))
    await workplace.run(client, bin('tsc'), ...TSC.split(' '), 'orval.ts')
    return workplace.run(client, process.execPath, 'orval.ts')
  },
  async 'openapi-python-client'(workplace) {
    const { run, folder, document } = workplace
    const client = join(folder, 'openapi-python-client')
    const bin = await python(workplace, OPENAPI_PYTHON_CLIENT)
    await run(folder, `${bin}/openapi-python-client`, 'generate', '--path', document, '--output-path', client)
    await run(folder, `${bin}/pip`, 'install', '--quiet', client)
    return run(folder, `${bin}/python`, join(workplace.programs, 'openapi-python-client.py'))
  },
}

/** Generates a client in a language and returns its folder. */
async function openApiGenerator({ folder, document, run }: Workplace, language: string, ...options: string[]) {
  const jar = join(folder, `${OPENAPI_GENERATOR.split(':').slice(1).join('-')}.jar`)
  if (!existsSync(jar)) {
    const copy = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy'
    const artifact = `-Dartifact=${OPENAPI_GENERATOR}`
    await run(folder, 'mvn', '--quiet', '--batch-mode', copy, artifact, `-DoutputDirectory=${folder}`)
  }
  const client = join(folder, `openapi-generator-${language}`)
  await run(folder, 'java', '-jar', jar, 'generate', '-g', language, '-i', document, '-o', client, ...options)
  return client
}

/** Makes a Go module of a program and its client, in the package `verdict` of the module, and runs it. */
async function goProgram(
  workplace: Workplace,
  generator: string,
  runtime: string[],
  program: string,
  generate: (bin: string, client: string) => Promise<string>,
): Promise<string> {
  const client = join(workplace.folder, program.replace('.go', ''))
  await cp(join(workplace.programs, program), join(client, 'main.go'), { recursive: true })
  const bin = join(client, 'bin')
  const go = await goIn(workplace, client, `GOBIN=${bin}`)
  await go('install', generator)
  await go('mod', 'init', 'verdict.example/program')
  await workplace.run(client, 'mkdir', 'verdict')
  await generate(bin, client)
  await go('get', ...runtime)
  await go('mod', 'tidy')
  await go('vet', './...')
  return go('run', '.')
}

async function goIn({ run }: Workplace, client: string, ...more: string[]) {
  const cacheDir = cacheFolder(process.env)
  const { program, env } = await goToolchain({ report: () => {}, signal: AbortSignal.timeout(300_000), cacheDir })
  const variables = [...Object.entries(env).map(([name, value]) => `${name}=${value}`), 'GOFLAGS=-mod=mod', ...more]
  return (...args: string[]) => run(client, 'env', ...variables, program, ...args)
}

/** A virtual environment with a package. Returns the folder of its programs. */
async function python({ folder, run }: Workplace, requirement: string): Promise<string> {
  const environment = join(folder, `environment-${requirement.replaceAll(/\W/g, '')}`)
  await run(folder, '/usr/bin/python3', '-m', 'venv', environment)
  const bin = join(environment, 'bin')
  await run(folder, `${bin}/pip`, 'install', '--quiet', requirement)
  return bin
}

async function npmProject({ folder, programs, run }: Workplace, name: string, packages: string[], program: string) {
  const client = join(folder, name)
  await cp(join(programs, program), join(client, program), { recursive: true })
  await writeFile(join(client, 'package.json'), '{"type":"module"}')
  await run(client, 'npm', 'install', '--no-audit', '--no-fund', ...packages)
  return { client, bin: (command: string) => join(client, 'node_modules/.bin', command) }
}
