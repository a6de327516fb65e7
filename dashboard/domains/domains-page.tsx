import { useQuery } from '@connectrpc/connect-query'
import { Button } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { Role } from '../../gen/verdict/admin/v1/options_pb.ts'
import { type Domain, DomainService, DomainStatus, RecordStatus } from '../../gen/verdict/v1/domains_pb.ts'
import { useAccount, useMay } from '../account/account.ts'
import { ReaderNote } from '../account/reader-note.tsx'
import { EmptyState } from '../feedback/empty-state.tsx'
import { ErrorState } from '../feedback/error-state.tsx'
import { useAddressedDialog } from '../frame/addressed-dialog.ts'
import { Page } from '../frame/page.tsx'
import { LoadingRows } from '../lists/loading-rows.tsx'
import { type Column, RowLink, Rows } from '../lists/rows.tsx'
import { shownIn } from '../status/shown-in.ts'
import { Pill } from '../status/status-pill.tsx'
import { Ago } from '../time/ago.tsx'
import { msOf } from '../time/ms-of.ts'
import { AddDomain } from './add-domain.tsx'
import { BREAKER_WORDS, DOMAIN_STATES, isVouchedForByOperator } from './domain-states.ts'

const REFRESH_MS = 15_000

/** The domains of the account, and the state of each. */
export function DomainsPage() {
  const domains = useQuery(DomainService.method.listDomains, {}, { refetchInterval: REFRESH_MS })
  const [adding, { open, close }] = useAddressedDialog('add')
  const add = useMay(Role.MEMBER) && (
    <Button size="sm" leftSection={<IconPlus size={16} aria-hidden />} onClick={open}>
      Add domain
    </Button>
  )
  return (
    <Page title="Domains" actions={add}>
      <ReaderNote />
      {domains.error && !domains.data ? (
        <ErrorState error={domains.error} retry={() => void domains.refetch()} />
      ) : !domains.data ? (
        <LoadingRows columns={COLUMNS} rows={3} />
      ) : domains.data.domains.length === 0 ? (
        <EmptyState title="No domain yet" command="npx verdict domains add example.com" action={add}>
          You send from a domain of your own. Add it, and publish its records at your DNS provider.
        </EmptyState>
      ) : (
        <Rows label="Domains" columns={COLUMNS} rows={domains.data.domains} idOf={({ domainId }) => domainId} />
      )}
      <AddDomain opened={adding} onClose={close} />
    </Page>
  )
}

const COLUMNS: Column<Domain>[] = [
  { head: 'Domain', bare: true, wide: true, cell: (domain) => <DomainLink {...domain} /> },
  { head: 'State', cell: ({ status }) => <Pill {...shownIn(DOMAIN_STATES, status)} /> },
  { head: 'Records found', numbers: true, cell: foundOf },
  { head: 'Sending', cell: (domain) => <SendingCell {...domain} /> },
  { head: 'Added', numbers: true, cell: ({ createdAt }) => createdAt && <Ago at={createdAt} /> },
]

function DomainLink({ domainId, domain }: Domain) {
  const { membership } = useAccount()
  return (
    <RowLink to="/$account/domains/$domain" params={{ account: membership.accountId, domain: domainId }}>
      {domain}
    </RowLink>
  )
}

function foundOf(domain: Domain): string {
  const { records } = domain
  if (isVouchedForByOperator(domain)) return 'Not needed'
  if (!records.some(({ lastCheckedAt }) => lastCheckedAt)) return 'Not checked'
  const found = records.filter(({ status }) => status === RecordStatus.VERIFIED).length
  return `${found} of ${records.length}`
}

function SendingCell({ sending, status, warmup }: Domain) {
  if (status !== DomainStatus.VERIFIED) return <span className="faint">Rejected</span>
  const breaker = BREAKER_WORDS[sending]
  if (breaker) return <Pill {...breaker} />
  if (warmup && msOf(warmup.completesAt) > Date.now()) return <>Warm-up, day {warmup.day}</>
  return <span className="faint">Not limited</span>
}
