import { onTestFinished, vi } from 'vitest'
import type { Database } from '../../server/db/connect.ts'

/** How the steps of a send end, as their process counts them from now on. */
export function endsOfSteps({ recording }: Database): string[] {
  const ends: string[] = []
  const begin = vi.spyOn(recording, 'begin').mockReturnValue({
    stored: () => void ends.push('stored'),
    refused: () => void ends.push('refused'),
    failed: () => void ends.push('failed'),
  })
  onTestFinished(() => begin.mockRestore())
  return ends
}
