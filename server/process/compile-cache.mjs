import module from 'node:module'
import { fileURLToPath } from 'node:url'

// `node --import ./server/process/compile-cache.mjs <program>`: Node keeps the compiled modules of one start for the
// next one, which then takes half of the processor's time (docs/adr/0095-memory-after-the-start.md). Threads inherit
// the option.
// The folder belongs to the installation: in the machine's folder for temporary files another user could plant code.
// Where it cannot be written, nothing is kept. JavaScript, because the compiler of TypeScript is not even loaded when
// all modules are kept.

// Node 20 may run the command line's first file, and has no such cache.
module.enableCompileCache?.(fileURLToPath(new URL('../../node_modules/.cache/compile', import.meta.url)))
