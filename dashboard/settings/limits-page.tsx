import { useQuery } from '@connectrpc/connect-query'
import { Progress } from '@mantine/core'
import { DomainService, DomainStatus } from '../../gen/verdict/v1/domains_pb.ts'
import {
  type CountLimits,
  type DomainVolume,
  type GetLimitsResponse,
  LimitsService,
  type SizeLimits,
} from '../../gen/verdict/v1/limits_pb.ts'
import { EmptyState } from '../feedback/empty-state.tsx'
import { ErrorState } from '../feedback/error-state.tsx'
import { LoadingSections } from '../feedback/loading.tsx'
import { Page } from '../frame/page.tsx'
import { FactList } from '../lists/fact-list.tsx'
import { type Column, Rows } from '../lists/rows.tsx'
import { countOf, sizeOf } from '../numbers/quantities.ts'
import { present } from '../present.ts'
import { MonthSection } from './month-section.tsx'
import styles from './settings.module.css'

/** What the account may send, and how much of today's volume is used. */
export function LimitsPage() {
  const limits = useQuery(LimitsService.method.getLimits)
  return (
    <Page title="Limits">
      {limits.error && !limits.data ? (
        <ErrorState error={limits.error} retry={() => void limits.refetch()} />
      ) : limits.data ? (
        <LimitsView limits={limits.data} />
      ) : (
        <LoadingSections rows={[1, 2, 2, 12]} />
      )}
    </Page>
  )
}

function LimitsView({ limits }: { limits: GetLimitsResponse }) {
  return (
    <>
      <section className={styles.section}>
        <h2>Requests</h2>
        <p className="soft">
          The tier of this account is “{limits.tier}”. A batch counts as one request. Calls above the limit fail, and
          say when to try again.
        </p>
        <FactList className={styles.facts} facts={[['Requests per minute', countOf(limits.requestsPerMinute)]]} />
      </section>
      <section className={styles.section}>
        <h2>Volume today</h2>
        <p className="soft">A new domain may send more each day until its warm-up ends. The day ends at 00:00 UTC.</p>
        {limits.domains.length === 0 ? (
          <EmptyState title="No domain yet" command="npx verdict domains add example.com">
            Each domain of this account appears here with what it sent today.
          </EmptyState>
        ) : (
          <Volumes volumes={limits.domains} />
        )}
      </section>
      <MonthSection month={present(limits.month)} />
      <section className={styles.section}>
        <h2>Sizes and counts</h2>
        <p className="soft">A larger request is refused as a whole, before anything is sent.</p>
        <FactList className={styles.facts} facts={messageFacts(present(limits.sizes), present(limits.counts))} />
      </section>
    </>
  )
}

function Volumes({ volumes }: { volumes: DomainVolume[] }) {
  const { data } = useQuery(DomainService.method.listDomains, {})
  const isVerified = ({ domain }: DomainVolume) =>
    data?.domains.find((one) => one.domain === domain)?.status === DomainStatus.VERIFIED
  const columns: Column<DomainVolume>[] = [
    { head: 'Domain', bare: true, wide: true, cell: ({ domain }) => domain },
    { head: 'Sent today', numbers: true, cell: ({ sentToday }) => countOf(sentToday) },
    { head: 'Allowed today', numbers: true, cell: (row) => data && (isVerified(row) ? allowed(row) : 'None') },
    { head: 'Warm-up used', cell: (row) => data && (isVerified(row) ? <Used {...row} /> : <Note>Not verified</Note>) },
  ]
  return <Rows label="Volume of domains today" columns={columns} rows={volumes} idOf={(row) => row.domain} />
}

const allowed = ({ dailyLimit }: DomainVolume) => (dailyLimit === undefined ? 'No limit' : countOf(dailyLimit))

const Note = ({ children }: { children: string }) => <span className="faint">{children}</span>

function Used({ domain, dailyLimit, sentToday }: DomainVolume) {
  if (dailyLimit === undefined) return <Note>Not in warm-up</Note>
  const percent = dailyLimit === 0 ? 100 : Math.min(100, (sentToday / dailyLimit) * 100)
  return (
    <Progress.Root size="sm" w={120} aria-label={`Used by ${domain}`}>
      <Progress.Section value={percent} aria-label={`Used by ${domain}`} />
    </Progress.Root>
  )
}

function messageFacts(sizes: SizeLimits, counts: CountLimits): [string, string][] {
  return [
    ['A request', sizeOf(sizes.requestBytes)],
    ['HTML of a message', sizeOf(sizes.htmlBytes)],
    ['Text of a message', sizeOf(sizes.textBytes)],
    ['All attachments of a message', sizeOf(sizes.attachmentsBytes)],
    ['Attachments of a message', countOf(counts.attachments)],
    ['Recipients of a message', countOf(counts.recipients)],
    ['Subject', `${countOf(sizes.subjectCharacters)} characters`],
    ['Custom headers', countOf(counts.headers)],
    ['Value of a header', `${countOf(sizes.headerValueCharacters)} characters`],
    ['Tenant', `${countOf(sizes.tenantIdCharacters)} characters`],
    ['Messages in a batch', countOf(counts.batchEmails)],
    ['Addresses in one API call of an import', countOf(counts.importAddresses)],
  ]
}
