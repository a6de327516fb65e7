import { execFileSync, spawnSync } from 'node:child_process'

/** Debian's package `postfix` brings the relay and its load tools. The installed instance is neither started nor changed. */
export function installPostfix(): void {
  process.env.PATH += ':/usr/sbin:/sbin'
  if (['postfix', 'smtp-sink', 'smtp-source'].every(isThere)) return
  console.log('installing the package postfix')
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  try {
    execFileSync('apt-get', ['update', '-qq'], { env, stdio: ['ignore', 'ignore', 'inherit'] })
    execFileSync('apt-get', ['install', '-y', '-qq', 'postfix'], { env, stdio: ['ignore', 'ignore', 'inherit'] })
  } catch (cause) {
    throw new Error('The peer needs the package postfix: install it, or run as root on Debian.', { cause })
  }
}

function isThere(program: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${program}`]).status === 0
}
