import { execFileSync } from 'node:child_process'
import { chown, mkdtemp, open, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Mounts a file system in memory, which the tests can fill. Needs root. The owner is that of the file `like`. */
export async function mountSmallDisk(megabytes: number, like: string) {
  const folder = await mkdtemp(join(tmpdir(), 'verdict-disk-'))
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'verdict', folder])
  const { uid, gid } = await stat(like)
  await chown(folder, uid, gid)
  const ballast = join(folder, 'ballast')

  /** Takes all space that is left. */
  async function fill(): Promise<void> {
    const file = await open(ballast, 'w')
    for (let octets = 1 << 20; octets >= 4096; octets >>= 4) {
      const block = Buffer.alloc(octets, 1)
      while (await file.write(block).then(({ bytesWritten }) => bytesWritten > 0, isFull)) {}
    }
    await file.close()
  }

  async function unmount(): Promise<void> {
    execFileSync('umount', ['--lazy', folder])
    await rm(folder, { recursive: true })
  }

  return { folder, fill, free: () => rm(ballast), unmount }
}

function isFull(error: NodeJS.ErrnoException): false {
  if (error.code !== 'ENOSPC') throw error
  return false
}
