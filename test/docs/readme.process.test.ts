import { README, runGuides } from './guides.ts'

await runGuides(README)
