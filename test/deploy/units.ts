import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'

const FOLDER = 'deploy/systemd'

/**
 * The settings of a unit's [Service] section in order, with those of its drop-ins, as systemd reads them, and those of
 * further files.
 */
export function serviceOf(unit: string, more: readonly string[] = []): [key: string, value: string][] {
  const template = unit.replace(/@.*\./, '@.')
  const dropIns = ['verdict-.service.d', `${template}.d`, `${unit}.d`]
    .flatMap((folder) => globSync(`${FOLDER}/${folder}/*.conf`))
    // systemd sorts them by name, whatever folder they are in.
    .toSorted((a, b) => basename(a).localeCompare(basename(b)))
  const files = [existsSync(`${FOLDER}/${unit}`) ? `${FOLDER}/${unit}` : `${FOLDER}/${template}`, ...dropIns, ...more]
  const [, instance = ''] = /@(.*)\./.exec(unit) ?? []
  return files.flatMap((file) => {
    const [, section = ''] = readFileSync(file, 'utf8').split(/^\[Service\]$/m)
    const [settings = ''] = section.split(/^\[/m)
    return [...settings.matchAll(/^(\w+)=(.*)$/gm)].map(
      ([, key, value]) => [key!, value!.replaceAll('%i', instance)] as [string, string],
    )
  })
}

/** The last value of a setting that is not a list. */
export const settingOf = (unit: string, key: string) => serviceOf(unit).findLast(([name]) => name === key)?.[1]

/** The values of a setting that is a list. An empty one forgets those before it. */
export function listOf(unit: string, key: string, more?: readonly string[]): string[] {
  const values = serviceOf(unit, more).flatMap(([name, value]) => (name === key ? [value] : []))
  return values.slice(values.lastIndexOf('') + 1).flatMap((value) => value.split(' '))
}

/** Lines NAME=value of an environment file. */
export const environmentFile = (file: string) =>
  Object.fromEntries(
    [...readFileSync(file, 'utf8').matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [name!, value!]),
  )
