import { execFileSync } from 'node:child_process'
import { renameSync, writeFileSync } from 'node:fs'
import { fromBinary } from '@bufbuild/protobuf'
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import packageJson from '../package.json' with { type: 'json' }
import { PUBLIC_SERVICES } from '../server/access/scopes.ts'
import { BUILT_OPENAPI } from '../server/http/site/built-files.ts'
import { ifInstalled } from './built-folder.ts'
import { commentsOf } from './openapi/comments.ts'
import { openApiDocument } from './openapi/document.ts'

// `node dev/build-openapi.ts [file]`, part of `npm run build`: generates the OpenAPI document from the contract. It
// compiles the contract first, because generated code omits the comments. `npm run gen` runs it as its own process,
// because it imports code that may just have been generated.

const place = process.argv[2] ?? BUILT_OPENAPI
if (await ifInstalled(async () => import.meta.resolve('@bufbuild/buf/package.json'))) {
  const startedAt = performance.now()
  const compiled = execFileSync('buf', ['build', '--as-file-descriptor-set', '--output', '-#format=binpb'], {
    cwd: new URL('..', import.meta.url).pathname,
    maxBuffer: 2 ** 26,
  })
  const comments = commentsOf(fromBinary(FileDescriptorSetSchema, compiled))
  const unfinished = `${place}.${process.pid}`
  writeFileSync(unfinished, `${JSON.stringify(openApiDocument(PUBLIC_SERVICES, comments, packageJson.version))}\n`)
  renameSync(unfinished, place)
  console.log(`The OpenAPI document is built (${((performance.now() - startedAt) / 1000).toFixed(1)} s).`)
} else {
  console.log('The OpenAPI document is not built: buf is a development dependency, and none are installed.')
}
