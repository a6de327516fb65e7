import { type ConnectionLike, isGrpcServiceError } from '@temporalio/client'
import { type SearchAttributePair, TypedSearchAttributes } from '@temporalio/common'

/** gRPC's INVALID_ARGUMENT. */
const INVALID_ARGUMENT = 3
/** After this time an attribute that was missing is tried again. */
const LOOK_AGAIN_MS = 60_000

/**
 * Starts workflows with the search attributes that the namespace has. A namespace whose operator has not added them yet
 * refuses a start with others, and no delivery waits for a label.
 */
export function createKnownAttributes(
  { operatorService }: ConnectionLike,
  namespace: string,
  onMissing: (names: string[]) => void = () => {},
) {
  let known: ReadonlySet<string> | undefined
  let knownUntilMs = 0

  async function look(wanted: readonly SearchAttributePair[]): Promise<void> {
    const { customAttributes } = await operatorService.listSearchAttributes({ namespace })
    const names = new Set(Object.keys(customAttributes))
    known = names
    knownUntilMs = Date.now() + LOOK_AGAIN_MS
    const missing = wanted.map(({ key }) => key.name).filter((name) => !names.has(name))
    if (missing.length > 0) onMissing(missing)
  }

  return {
    async startWith<Result>(
      wanted: readonly SearchAttributePair[],
      start: (attributes: TypedSearchAttributes) => Promise<Result>,
    ): Promise<Result> {
      if (Date.now() > knownUntilMs) known = undefined
      const usable = () => new TypedSearchAttributes(wanted.filter(({ key }) => !known || known.has(key.name)))
      try {
        return await start(usable())
      } catch (error) {
        if (!isRefusedAttribute(error)) throw error
        await look(wanted)
        return start(usable())
      }
    },
  }
}

function isRefusedAttribute(error: unknown): boolean {
  const cause = (error as Error).cause ?? error
  return isGrpcServiceError(cause) && cause.code === INVALID_ARGUMENT && /search attribute/i.test(cause.details)
}
