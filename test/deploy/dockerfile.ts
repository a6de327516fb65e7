import { readFileSync } from 'node:fs'
import { type Copy, DockerfileParser, type From, type Instruction, Keyword } from 'dockerfile-ast'

export interface Stage {
  image: string
  name: string | undefined
  /** The instructions after FROM. */
  steps: Step[]
}

export type Step =
  | { does: 'COPY'; from: string | undefined; sources: string[]; target: string }
  | { does: 'RUN'; command: string }
  | { does: 'ENV'; variables: Record<string, string> }
  | { does: 'CMD'; command: string[] }
  | { does: 'HEALTHCHECK'; command: string[] }
  | { does: 'WORKDIR'; values: string[] }
  | { does: 'USER'; values: string[] }
  | { does: 'EXPOSE'; values: string[] }

/** The stages of a Dockerfile. Throws at an instruction or a form of one that ours does not use. */
export function readDockerfile(path = 'Dockerfile'): Stage[] {
  const stages: Stage[] = []
  for (const instruction of DockerfileParser.parse(readFileSync(path, 'utf8')).getInstructions()) {
    if (instruction.getKeyword() === Keyword.FROM) {
      const from = instruction as From
      stages.push({ image: from.getImage()!, name: from.getBuildStage() ?? undefined, steps: [] })
    } else stages.at(-1)!.steps.push(stepOf(instruction))
  }
  return stages
}

function stepOf(instruction: Instruction): Step {
  const does = instruction.getKeyword()
  const values = instruction.getArguments().map((argument) => argument.getValue())
  const line = instruction.getArgumentsContent()!
  switch (does) {
    case Keyword.COPY: {
      const from = (instruction as Copy).getFromFlag()?.getValue() ?? undefined
      return { does, from, sources: values.slice(0, -1), target: values.at(-1)! }
    }
    case Keyword.RUN:
      return { does, command: line }
    case Keyword.ENV:
      return { does, variables: Object.fromEntries(values.map((value) => value.split(/=(.*)/s).slice(0, 2))) }
    case Keyword.CMD:
    case Keyword.HEALTHCHECK:
      return { does, command: JSON.parse(line.slice(line.indexOf('['))) }
    case Keyword.WORKDIR:
    case Keyword.USER:
    case Keyword.EXPOSE:
      return { does, values }
  }
  throw new Error(`The tests do not know ${does} in a Dockerfile`)
}

/** What the image sets for every process in it, without PATH. */
export function environmentOf({ steps }: Stage): Record<string, string> {
  const { PATH, ...variables } = Object.assign({}, ...steps.map((step) => (step.does === 'ENV' ? step.variables : {})))
  return variables
}

/** The only step of a kind in a stage. */
export function onlyStep<Does extends Step['does']>({ steps }: Stage, does: Does): Extract<Step, { does: Does }> {
  const found = steps.filter((step) => step.does === does)
  if (found.length !== 1) throw new Error(`${found.length} times ${does} instead of once`)
  return found[0] as Extract<Step, { does: Does }>
}

/** Whether a file reaches the build: the last pattern of .dockerignore that matches it or a folder above it decides. */
export function reachesBuild(file: string): boolean {
  const patterns = readFileSync('.dockerignore', 'utf8').split('\n')
  const matching = patterns.filter((line) => line && !line.startsWith('#') && matchesPath(file, line.replace(/^!/, '')))
  return matching.at(-1)?.startsWith('!') ?? true
}

/** As in .dockerignore, an asterisk also matches a name that begins with a dot. */
function matchesPath(file: string, pattern: string): boolean {
  const source = pattern.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '[^/]*')
  return new RegExp(`^${source}(/|$)`).test(file)
}
