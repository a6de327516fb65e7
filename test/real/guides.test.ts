import { delimiter, dirname } from 'node:path'
import { goToolchain } from '../../dev/temporal/go-toolchain.ts'
import { cacheFolder } from '../../dev/temporal/install-options.ts'
import { GUIDES_WITH_PACKAGES, runGuides } from '../docs/guides.ts'

// Programs in Go and Python, with packages of npm, PyPI and Go's module proxy.

const INSTALL_AND_COMPILE_MS = 900_000

const installOptions = { report: () => {}, signal: AbortSignal.timeout(300_000), cacheDir: cacheFolder(process.env) }
const go = await goToolchain(installOptions)
const PATH = go.program === 'go' ? process.env.PATH : `${dirname(go.program)}${delimiter}${process.env.PATH}`

await runGuides(GUIDES_WITH_PACKAGES, { env: { ...process.env, ...go.env, PATH }, timeoutMs: INSTALL_AND_COMPILE_MS })
