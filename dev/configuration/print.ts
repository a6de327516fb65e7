import { fileOf } from '../../server/config/config.ts'
import { VARIABLES, type Variable, type Variables } from '../../server/config/variables.ts'
import { ELSEWHERE, INTRODUCTION, SECTIONS, type Words } from './words.ts'

/** The text of docs/configuration.md. Throws an Error that names the variables without words. */
export function configurationGuide(): string {
  const described = SECTIONS.flatMap(({ rows }) => Object.keys(rows))
  const missing = Object.keys(VARIABLES).filter((key) => !described.includes(key))
  if (missing.length > 0) throw new Error(`dev/configuration/words.ts says nothing of ${missing.join(', ')}`)
  const sections = [
    ...SECTIONS.map(({ rows, ...section }) => ({ ...section, rows: Object.entries(rows).map(variableRow) })),
    ...ELSEWHERE.map(({ rows, ...section }) => ({
      ...section,
      rows: Object.entries(rows).map(([name, words]) => row({ name, ...words })),
    })),
  ]
  const pages = sections.map(({ title, text, rows }) =>
    [`## ${title}`, ...(text ? [text] : []), [...HEAD, ...rows].join('\n')].join('\n\n'),
  )
  return `${[INTRODUCTION.trimEnd(), ...pages].join('\n\n')}\n`
}

const HEAD = ['| Variable | Default | Meaning | Example |', '| --- | --- | --- | --- |']

function row(cells: { name: string; byDefault: string; meaning: string; example: string }): string {
  return `| \`${cells.name}\` | ${cells.byDefault} | ${cells.meaning} | \`${cells.example}\` |`
}

function variableRow([key, { meaning, byDefault }]: [string, Words]): string {
  const variable: Variable<unknown> = VARIABLES[key as keyof Variables]
  const { name, required, example, secret } = variable
  const need = required === 'always' ? 'required' : required && 'required in production'
  const value = byDefault ?? (required ? undefined : defaultOf(variable))
  const inFile = secret ? ` Or in the file that \`${fileOf(variable)}\` names.` : ''
  return row({ name, byDefault: [need, value].filter(Boolean).join('; '), meaning: meaning + inFile, example })
}

/** The default as it would be written; "none" for nothing. */
function defaultOf(variable: Variable<unknown>): string {
  const value = variable.default?.({} as Variables)
  const isText = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
  return isText ? `\`${value}\`` : 'none'
}
