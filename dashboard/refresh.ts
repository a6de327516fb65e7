import type { DescMethodUnary } from '@bufbuild/protobuf'
import { createConnectQueryKey } from '@connectrpc/connect-query'
import { useQueryClient } from '@tanstack/react-query'

/** Loads what methods have returned again, wherever it is shown: for use after a change. */
export function useRefresh(): (...methods: DescMethodUnary[]) => Promise<void> {
  const queries = useQueryClient()
  return async (...methods) => {
    const keys = methods.map((schema) => createConnectQueryKey({ schema, cardinality: undefined }))
    await Promise.all(keys.map((queryKey) => queries.invalidateQueries({ queryKey })))
  }
}
