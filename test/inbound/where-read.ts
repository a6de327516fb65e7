import { isMainThread } from 'node:worker_threads'
import { aside } from '../../server/inbound/aside.ts'

/** Whether a mail is read in the thread of the caller, and what else the reader gets. */
export async function whereRead(_mail: Uint8Array, more: string): Promise<[boolean, string]> {
  return [isMainThread, more]
}

export const whereReadAside = aside(import.meta.url, whereRead)
