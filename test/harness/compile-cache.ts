import { fileURLToPath } from 'node:url'

// Vitest's configurations import this. Test workers, and the programs that tests start, load the modules that an
// earlier process compiled.

process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../../node_modules/.cache/compile', import.meta.url))
