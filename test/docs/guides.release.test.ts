import { GUIDES, runGuides } from './guides.ts'

await runGuides(GUIDES)
