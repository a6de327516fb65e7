import { createConnectQueryKey, useMutation, useQuery, useTransport } from '@connectrpc/connect-query'
import { Button, Switch } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconDownload, IconRefresh } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { Role } from '../../gen/verdict/admin/v1/options_pb.ts'
import { type Domain, DomainService, DomainStatus } from '../../gen/verdict/v1/domains_pb.ts'
import { useAccount, useMay } from '../account/account.ts'
import { ReaderNote } from '../account/reader-note.tsx'
import { saveFile } from '../export/save-file.ts'
import { CallFault, ErrorState } from '../feedback/error-state.tsx'
import { LoadingSections } from '../feedback/loading.tsx'
import { NameDialog } from '../feedback/name-dialog.tsx'
import { Page } from '../frame/page.tsx'
import { SHOWN_ON_OVERVIEW } from '../overview/shown-on-overview.ts'
import { useRefresh } from '../refresh.ts'
import { Pill } from '../status/status-pill.tsx'
import { isLocal, shownDomain } from './domain-states.ts'
import styles from './domains.module.css'
import { Sending } from './pause.tsx'
import { Records } from './records.tsx'
import { Rotation } from './rotation.tsx'
import { WarmUpBar } from './warm-up-bar.tsx'
import { zoneFileOf } from './zone-file.ts'

/** While a record is missing, what DNS has is asked for again this often. */
const WAITING_MS = 5_000
const REFRESH_MS = 60_000

/** One domain: its records beside what DNS has, and what may leave from it. */
export function DomainPage() {
  const { domain: id } = useParams({ from: '/$account/domains/$domain' })
  const domain = useQuery(
    DomainService.method.getDomain,
    { id },
    {
      refetchInterval: ({ state }) => (state.data?.status === DomainStatus.VERIFIED ? REFRESH_MS : WAITING_MS),
    },
  )
  if (domain.data) return <DomainView domain={domain.data} />
  return (
    <Page title="Domain">
      {domain.error ? (
        <ErrorState error={domain.error} retry={() => void domain.refetch()} />
      ) : (
        <LoadingSections rows={[6, 2]} />
      )}
    </Page>
  )
}

function AllDomains() {
  const { membership } = useAccount()
  return (
    <Link to="/$account/domains" params={{ account: membership.accountId }} className="text-link">
      All domains
    </Link>
  )
}

function DomainView({ domain }: { domain: Domain }) {
  const mayChange = useMay(Role.MEMBER)
  const show = useShowDomain()
  const id = domain.domainId
  const check = useMutation(DomainService.method.verifyDomain, { onSuccess: show })
  const update = useMutation(DomainService.method.updateDomain, { onSuccess: show })
  const { sentence, ...state } = shownDomain(domain)
  const actions = mayChange && (
    <Button
      size="sm"
      leftSection={<IconRefresh size={16} aria-hidden />}
      loading={check.isPending}
      onClick={() => check.mutate({ id })}
    >
      Check now
    </Button>
  )
  return (
    <Page title={domain.domain} above={<AllDomains />} actions={actions}>
      <ReaderNote />
      <p className={styles.state}>
        <Pill {...state} large /> <span>{sentence}</span>
      </p>
      <Sending domain={domain} />
      <CallFault error={check.error ?? update.error} />
      {domain.warmup && <WarmUpBar warmUp={domain.warmup} />}
      <section className={styles.section}>
        <h2>DNS records</h2>
        <div className={styles.sectionHead}>
          <p className="soft">
            {isLocal(domain.records)
              ? 'This installation has no public address yet. These records are for a trial on this machine.'
              : `Create these at the provider that hosts the DNS of ${domain.domain}, or import the file there.`}
          </p>
          <Button
            variant="default"
            size="xs"
            leftSection={<IconDownload size={14} aria-hidden />}
            onClick={() => saveFile(`${domain.domain}.zone`, new Blob([zoneFileOf(domain.records)]))}
          >
            Zone file
          </Button>
        </div>
        <Records domain={domain} isChecking={check.isPending} />
      </section>
      <section className={styles.section}>
        <h2>DKIM key</h2>
        <Rotation domain={domain} mayChange={mayChange} onChanged={show} />
      </section>
      <section className={styles.section}>
        <h2>TLS</h2>
        <Switch
          label="Send only over TLS with a valid certificate"
          description="Mail to servers without one then bounces."
          checked={domain.requireTls}
          disabled={!mayChange || update.isPending}
          onChange={(event) => update.mutate({ id, requireTls: event.currentTarget.checked })}
        />
      </section>
      {mayChange && <DeleteDomain domain={domain} />}
    </Page>
  )
}

/** Returns what puts a changed domain in the place of the one that is shown. */
function useShowDomain(): (domain: Domain) => void {
  const transport = useTransport()
  const queries = useQueryClient()
  const schema = DomainService.method.getDomain
  return (domain) => {
    const input = { id: domain.domainId }
    queries.setQueryData(createConnectQueryKey({ schema, input, transport, cardinality: 'finite' }), domain)
  }
}

function DeleteDomain({ domain: { domain, domainId } }: { domain: Domain }) {
  const { membership } = useAccount()
  const navigate = useNavigate()
  const refresh = useRefresh()
  const [opened, { open, close }] = useDisclosure()
  const remove = useMutation(DomainService.method.deleteDomain, {
    onSuccess() {
      void refresh(DomainService.method.listDomains, ...SHOWN_ON_OVERVIEW)
      void navigate({ to: '/$account/domains', params: { account: membership.accountId } })
    },
  })
  return (
    <section className={styles.section}>
      <h2>Delete this domain</h2>
      <p className="soft">
        Sends from it are refused within 5 seconds, and its DKIM keys are lost. Its messages, events and statistics
        stay.
      </p>
      <Button variant="default" color="red" onClick={open}>
        Delete domain
      </Button>
      <NameDialog
        opened={opened}
        onClose={close}
        title={`Delete ${domain}`}
        name={domain}
        verb="Delete domain"
        pending={remove.isPending}
        error={remove.error}
        onConfirm={() => remove.mutate({ id: domainId })}
      >
        Sends from {domain} are refused within 5 seconds. Its DKIM keys are lost: if you add the domain again, it gets a
        new key to publish and a new warm-up.
      </NameDialog>
    </section>
  )
}
