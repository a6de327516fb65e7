import type { Call, CallOptions } from './call.ts'
import type {
  ListSuppressionsQuery,
  RemoveSuppressionQuery,
  SuppressionServiceAddRequest,
  SuppressionServiceImportRequest,
  SuppressionServiceLiftRequest,
} from './gen/contract.ts'
import { itemsOf } from './pages.ts'

export function suppressionOf(call: Call) {
  const list = (query: ListSuppressionsQuery = {}, options?: CallOptions) =>
    call('listSuppressions', { query }, options)
  return {
    /** Returns one page of entries, newest first. */
    list,

    /** Yields all entries that match, newest first. `limit` is the size of the pages it reads. */
    all: (query: Omit<ListSuppressionsQuery, 'cursor'> = {}, options?: CallOptions) =>
      itemsOf(
        (cursor) => list({ ...query, cursor }, options),
        ({ entries }) => entries,
      ),

    /** Adds one address and returns its entry. */
    add: (entry: SuppressionServiceAddRequest, options?: CallOptions) =>
      call('addSuppression', { body: entry }, options),

    /** Adds 1 to 10,000 addresses. Invalid ones are skipped and reported. With `dry_run` it only counts. */
    import: (entries: SuppressionServiceImportRequest, options?: CallOptions) =>
      call('importSuppressions', { body: entries }, options),

    /** Removes what an import added, and puts back what it replaced. */
    undoImport: (importId: string, options?: CallOptions) =>
      call('undoSuppressionImport', { path: { import_id: importId } }, options),

    /** Removes one address from the list of the account or of a tenant. */
    remove: (email: string, query: RemoveSuppressionQuery = {}, options?: CallOptions) =>
      call('removeSuppression', { path: { email }, query }, options),

    /** Removes the entries that bounces made in a time. With `dry_run` it only shows them. */
    lift: (filters: SuppressionServiceLiftRequest, options?: CallOptions) =>
      call('liftSuppressions', { body: filters }, options),
  }
}
