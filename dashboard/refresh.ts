import type { DescMethodUnary } from '@bufbuild/protobuf'
import { createConnectQueryKey } from '@connectrpc/connect-query'
import { useQueryClient } from '@tanstack/react-query'

/** Loads what a method has returned again, wherever it is shown: for use after a change. */
export function useRefresh(): (method: DescMethodUnary) => Promise<void> {
  const queries = useQueryClient()
  return (schema) => queries.invalidateQueries({ queryKey: createConnectQueryKey({ schema, cardinality: undefined }) })
}
