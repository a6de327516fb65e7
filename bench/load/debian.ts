import { execFileSync, spawnSync } from 'node:child_process'

/** Programs of Debian's packages, which peers are made of. Installed instances are neither started by us nor changed. */
export function installPackages(programs: readonly string[], packages: readonly string[]): void {
  process.env.PATH += ':/usr/sbin:/sbin'
  if (programs.every(isThere)) return
  console.log(`installing ${packages.join(', ')}`)
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const install = ['install', '-y', '-qq', '--no-install-recommends', ...packages]
  try {
    execFileSync('apt-get', ['update', '-qq'], { env, stdio: ['ignore', 'ignore', 'inherit'] })
    execFileSync('apt-get', install, { env, stdio: ['ignore', 'ignore', 'inherit'] })
  } catch (cause) {
    throw new Error(`The peer needs ${packages.join(', ')}: install them, or run as root on Debian.`, { cause })
  }
}

/** Postfix, with the load tools that it brings. */
export function installPostfix(): void {
  installPackages(['postfix', 'smtp-sink', 'smtp-source'], ['postfix'])
}

function isThere(program: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${program}`]).status === 0
}
