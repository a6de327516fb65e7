import type { Part, Range } from './scan.ts'

export interface ErasureProgress {
  /** The table or the day that is searched. */
  part: string
  blocksDone: number
  blocks: number
  rows: number
}

/** Reports after a batch, and without one at the end of a part. */
export function meterOf(all: Part[], progress?: (progress: ErasureProgress) => void) {
  const done: ErasureProgress = { part: '', blocksDone: 0, blocks: 0, rows: 0 }
  const blocksBefore = new Map<Part, number>()
  for (const part of all) {
    blocksBefore.set(part, done.blocks)
    done.blocks += part.blocks
  }
  return (part: Part, range?: Range, rows = 0) => {
    const blocks = range === undefined ? part.blocks : 'to' in range ? range.to : 0
    done.part = part.name
    done.blocksDone = blocksBefore.get(part)! + blocks
    done.rows += rows
    progress?.(done)
  }
}
