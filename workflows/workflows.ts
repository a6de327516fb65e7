// The workflows that a worker runs. This file is the entry of its bundle.
export { deliverWebhooks } from './deliver-webhooks.ts'
export { replayRange } from './replay-range.ts'
export { retention } from './retention.ts'
export { verification } from './verification.ts'
