import { execFileSync, spawnSync } from 'node:child_process'

/** Installs a peer's Debian packages unless all programs are there. Installed instances are not started or changed. */
export function installPackages(programs: readonly string[], packages: readonly string[]): void {
  process.env.PATH += ':/usr/sbin:/sbin'
  if (programs.every(isInstalled)) return
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

/** Installs Postfix and the load tools in its package. */
export function installPostfix(): void {
  installPackages(['postfix', 'smtp-sink', 'smtp-source'], ['postfix'])
}

function isInstalled(program: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${program}`]).status === 0
}
