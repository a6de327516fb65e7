import { useMutation, useQuery } from '@connectrpc/connect-query'
import { Group, NumberInput, Stack } from '@mantine/core'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { Role } from '../../gen/verdict/admin/v1/options_pb.ts'
import { type Replay, ReplayService } from '../../gen/verdict/admin/v1/replays_pb.ts'
import { WebhookService } from '../../gen/verdict/v1/webhooks_pb.ts'
import { useAccount, useMay } from '../account/account.ts'
import { ReaderNote } from '../account/reader-note.tsx'
import { CallFault } from '../feedback/error-state.tsx'
import { Page } from '../frame/page.tsx'
import { FilterChips } from '../lists/filter-chips.tsx'
import { type Column, RowLink, Rows } from '../lists/rows.tsx'
import { countOf } from '../numbers/quantities.ts'
import { EmailAddress } from '../outside-text/address.tsx'
import { present } from '../present.ts'
import { withTimes } from '../range/presets.ts'
import { RangePicker } from '../range/range-picker.tsx'
import { useRefresh } from '../refresh.ts'
import { Pill } from '../status/status-pill.tsx'
import { Ago } from '../time/ago.tsx'
import { lengthOf } from '../time/times.ts'
import { type EventCount, useEventCount } from './event-count.ts'
import { REPLAY_CHIPS, type ReplaySearch, replayFilterOf } from './event-filters.ts'
import { EVENT_KIND_NAMES } from './event-kinds.ts'
import styles from './events.module.css'
import { stateOfReplay } from './replay-states.ts'
import { StartButton } from './start-button.tsx'

const DEFAULT_PER_SECOND = 50
const MAX_PER_SECOND = 1_000

/** Chooses the events of a range, counts them, and sends them to the endpoint again. */
export function ReplayPage() {
  const { membership } = useAccount()
  const params = { account: membership.accountId }
  const search = useSearch({ from: '/$account/events/replay' })
  const navigate = useNavigate()
  const refresh = useRefresh()
  const mayChange = useMay(Role.MEMBER)
  const [perSecond, setPerSecond] = useState(DEFAULT_PER_SECOND)
  const filter = replayFilterOf(search)
  const count = useEventCount(filter)
  const start = useMutation(ReplayService.method.startReplay, {
    onSuccess({ replay }) {
      void refresh(ReplayService.method.listReplays)
      void navigate({ to: '/$account/events/replays/$replay', params: { ...params, replay: present(replay).replayId } })
    },
  })
  const setSearch = (next: ReplaySearch) =>
    void navigate({ to: '/$account/events/replay', params, search: next, replace: true })
  const setFilter = (name: string, value: string | undefined) => setSearch({ ...search, [name]: value })
  return (
    <Page title="Replay a range">
      <ReaderNote />
      <Stack gap="md" className={styles.replay}>
        <p className="soft">
          Every matching event goes to your current endpoint again, the oldest first, with the same body and the same
          id. No email is sent again. Your endpoint gets events that it may have already.
        </p>
        <LeftOut />
        <RangePicker
          value={search}
          all="All kept"
          // A replay has a fixed start, so that the count and the replay mean the same events.
          onChange={(next) => setSearch(withTimes({ ...search, ...next }, Date.now()))}
        />
        <FilterChips filters={REPLAY_CHIPS} values={{ ...search }} onChange={setFilter} />
        <p role="status" className={styles.count}>
          {count.error ? null : <Matching {...count} perSecond={perSecond} />}
        </p>
        <CallFault error={count.error ?? start.error} />
        {!mayChange && <p>Members and owners of this account can start a replay.</p>}
        {mayChange && (
          <Group align="flex-end" gap="sm">
            <NumberInput
              label="At most per second"
              min={1}
              max={MAX_PER_SECOND}
              value={perSecond}
              onChange={(value) => setPerSecond(Number(value) || DEFAULT_PER_SECOND)}
              w={160}
            />
            <StartButton
              count={count.isComplete ? count.count : undefined}
              asks={!search.from && !search.to}
              pending={start.isPending}
              onStart={() => start.mutate({ filter, perSecond })}
            />
          </Group>
        )}
      </Stack>
      <PastReplays />
    </Page>
  )
}

/** Says which kinds of events a replay leaves out, because the endpoint does not ask for them. */
function LeftOut() {
  const { membership } = useAccount()
  const { data } = useQuery(WebhookService.method.listEndpoints)
  const enabled = data?.endpoints.filter(({ disabled }) => !disabled) ?? []
  const isMissing = (kind: string) => enabled.length > 0 && !enabled.some(({ events }) => events.includes(kind))
  const missing = EVENT_KIND_NAMES.filter(({ kind }) => isMissing(kind)).map(({ events }) => events)
  if (missing.length === 0) return null
  return (
    <p className="soft">
      {enabled.length === 1 ? 'Your endpoint does not' : 'No endpoint'} {enabled.length === 1 ? 'ask' : 'asks'} for{' '}
      {missing.join(' and ')}, so a replay leaves these events out.{' '}
      <Link to="/$account/settings/webhook" params={{ account: membership.accountId }} className="text-link">
        Change what it asks for
      </Link>
    </p>
  )
}

function Matching({ count, more, isComplete, perSecond }: EventCount & { perSecond: number }) {
  if (!isComplete) return count === 0 ? 'Counting events' : `${countOf(count)} so far. Counting older events`
  if (count === 0) return 'No event matches.'
  return (
    <>
      <strong>
        {more && 'More than '}
        {countOf(count)} {count === 1 ? 'event matches' : 'events match'}.
      </strong>{' '}
      <span className="soft">That takes at least {lengthOf((count / perSecond) * 1_000)} at this pace.</span>
    </>
  )
}

function PastReplays() {
  const { data } = useQuery(ReplayService.method.listReplays)
  if (!data?.replays.length) return null
  return (
    <section className={styles.past}>
      <h2>Replays</h2>
      <Rows label="Replays" columns={COLUMNS} rows={data.replays} idOf={({ replayId }) => replayId} />
    </section>
  )
}

const COLUMNS: Column<Replay>[] = [
  { head: 'Started', cell: (replay) => <Started {...replay} /> },
  { head: 'State', cell: (replay) => <Pill {...stateOfReplay(replay)} /> },
  { head: 'Dispatched', numbers: true, cell: ({ dispatched, total }) => `${countOf(dispatched)} of ${countOf(total)}` },
  { head: 'Acknowledged', numbers: true, cell: ({ acknowledged }) => countOf(acknowledged) },
  { head: 'By', wide: true, cell: ({ createdBy }) => <EmailAddress email={createdBy} /> },
]

function Started({ replayId, createdAt }: Replay) {
  const { membership } = useAccount()
  return (
    <RowLink to="/$account/events/replays/$replay" params={{ account: membership.accountId, replay: replayId }}>
      <Ago at={createdAt} />
    </RowLink>
  )
}

/** The way from a replay back to its form. */
export function BackToReplays() {
  const { membership } = useAccount()
  return (
    <Link to="/$account/events/replay" params={{ account: membership.accountId }} className="text-link">
      All replays
    </Link>
  )
}
