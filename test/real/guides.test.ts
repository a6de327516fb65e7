import { GUIDES_WITH_PACKAGES, runGuides } from '../docs/guides.ts'

await runGuides(GUIDES_WITH_PACKAGES, { timeoutMs: 900_000 })
