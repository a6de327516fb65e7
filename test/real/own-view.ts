import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export interface OwnView {
  /** The path of the machine that each of these files or folders takes. */
  files?: Record<string, string>
  /** Existing folders of the machine that are empty in the view, and folders to create. */
  empty?: string[]
  folders?: string[]
  /** Lines of passwd(5) beside the machine's. */
  users?: string[]
  /** Where the view's own files are written. */
  folder: string
}

/**
 * The command of a server with paths and users that are compiled in: it sees a view of the file system of its own
 * (mount_namespaces(7)), and the machine stays as it is.
 */
export function inOwnView({ files = {}, empty = [], folders = [], users = [], folder }: OwnView, command: string[]) {
  const accounts = (name: string, lines: string[]) => {
    writeFileSync(join(folder, name), `${readFileSync(`/etc/${name}`, 'utf8')}${lines.join('\n')}\n`)
    return join(folder, name)
  }
  const groups = users.map((user) => user.split(':')).map(([name, , , gid]) => `${name}:x:${gid}:`)
  const all = { '/etc/passwd': accounts('passwd', users), '/etc/group': accounts('group', groups), ...files }
  const steps = [
    ...Object.entries(all).map(([path, file]) => `mount --bind '${file}' ${path}`),
    ...empty.map((path) => `mount -t tmpfs none ${path}`),
    ...folders.map((path) => `mkdir -m 711 -p ${path}`),
    'exec "$@"',
  ]
  return ['unshare', '--mount', 'sh', '-ec', steps.join('\n'), 'sh', ...command]
}
