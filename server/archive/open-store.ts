import { tmpdir } from 'node:os'
import type { ArchivePlace } from '../config/values.ts'
import { type ArchiveStore, folderStore } from './store.ts'

/**
 * The SDK of AWS is loaded for a bucket alone: it costs a process 40 MB. `temporary` is the folder for copies of its
 * files.
 */
export async function openStore(place: ArchivePlace, temporary = tmpdir()): Promise<ArchiveStore> {
  if ('folder' in place) return folderStore(place.folder)
  return (await import('./bucket-store.ts')).bucketStore(place, temporary)
}
