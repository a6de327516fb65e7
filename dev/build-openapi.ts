import { renameSync, writeFileSync } from 'node:fs'
import packageJson from '../package.json' with { type: 'json' }
import { PUBLIC_SERVICES } from '../server/access/scopes.ts'
import { BUILT_OPENAPI } from '../server/http/site/built-files.ts'
import { ifInstalled } from './built-folder.ts'
import { contractComments } from './openapi/contract.ts'
import { openApiDocument } from './openapi/document.ts'

// `node dev/build-openapi.ts [file]`, part of `npm run build`: generates the OpenAPI document from the contract.
// `npm run gen` runs it as its own process, because it imports code that may just have been generated.

const place = process.argv[2] ?? BUILT_OPENAPI
if (await ifInstalled(async () => import.meta.resolve('@bufbuild/buf/package.json'))) {
  const startedAt = performance.now()
  const unfinished = `${place}.${process.pid}`
  writeFileSync(
    unfinished,
    `${JSON.stringify(openApiDocument(PUBLIC_SERVICES, contractComments(), packageJson.version))}\n`,
  )
  renameSync(unfinished, place)
  console.log(`The OpenAPI document is built (${((performance.now() - startedAt) / 1000).toFixed(1)} s).`)
} else {
  console.log('The OpenAPI document is not built: buf is a development dependency, and none are installed.')
}
