import { useQuery } from '@connectrpc/connect-query'
import { EmailService } from '../../gen/verdict/v1/emails_pb.ts'

const FRESH_MS = 300_000
/** A search asks for each of them. */
const MOST_KEYS = 4

/** The metadata keys of the newest messages, the most frequent first. */
export function useMetadataKeys(isNeeded: boolean): string[] {
  const { data } = useQuery(EmailService.method.listEmails, { limit: 100 }, { staleTime: FRESH_MS, enabled: isNeeded })
  const keys = Map.groupBy(data?.emails.flatMap(({ metadata }) => Object.keys(metadata)) ?? [], (key) => key)
  return [...keys]
    .sort(([, a], [, b]) => b.length - a.length)
    .slice(0, MOST_KEYS)
    .map(([key]) => key)
}
