import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, cpSync, globSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../harness/until-end.ts'

// deploy/pin-images.sh on a copy, with a docker that makes a digest of each name.

const folder = temporaryFolder()
for (const path of ['Dockerfile', 'compose.yaml', 'deploy']) cpSync(path, join(folder, path), { recursive: true })
writeFileSync(
  join(folder, 'docker'),
  `#!/bin/sh\n[ "$*" = "buildx imagetools inspect $4 --format {{.Manifest.Digest}}" ] || exit 9\n` +
    `echo "sha256:$(printf %s "$4" | sha256sum | cut -c1-64)"\n`,
)
chmodSync(join(folder, 'docker'), 0o755)

const pin = () =>
  execFileSync(join(folder, 'deploy/pin-images.sh'), { env: { PATH: `${folder}:${process.env.PATH}` } }).toString()

/** Every image that a file names: of Dockerfiles, Compose and Kubernetes. */
const imagesOf = (text: string) =>
  [...text.matchAll(/(?:\bimage(?:Name)?:\s+|^FROM\s+(?:--\S+\s+)?)["']?([^\s"'#]+:[^\s"'#]+)/gm)].map(
    ([, image]) => image!,
  )

const named = () =>
  ['Dockerfile', 'compose.yaml', ...globSync('deploy/**/*')]
    .filter((path) => statSync(path).isFile())
    .flatMap((path) => imagesOf(readFileSync(join(folder, path), 'utf8')).map((image) => [path, image] as const))

const isOurs = (image: string) => /(^|\/)verdict(-database)?:/.test(image)
const digestOf = (image: string) => `sha256:${createHash('sha256').update(image).digest('hex')}`

test('one command gives each image of others its digest beside its tag, and run again it changes nothing', () => {
  const before = named()
  pin()
  const after = named()
  expect(after).toEqual(
    before.map(([path, image]) => [path, isOurs(image) || image.includes('@') ? image : `${image}@${digestOf(image)}`]),
  )
  expect(after.filter(([, image]) => !isOurs(image)).length).toBeGreaterThan(10)
  expect(pin()).toBe('')
  expect(named()).toEqual(after)
})
