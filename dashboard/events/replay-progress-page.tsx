import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt'
import { useMutation, useQuery } from '@connectrpc/connect-query'
import { Button, Group, Progress, Stack } from '@mantine/core'
import { Link, useParams } from '@tanstack/react-router'
import { Role } from '../../gen/verdict/admin/v1/options_pb.ts'
import { type Replay, ReplayService, ReplayState } from '../../gen/verdict/admin/v1/replays_pb.ts'
import { useAccount, useMay } from '../account/account.ts'
import { CallFault, ErrorState } from '../feedback/error-state.tsx'
import { LoadingBlock } from '../feedback/loading.tsx'
import { Page } from '../frame/page.tsx'
import { countOf } from '../numbers/quantities.ts'
import { Pill } from '../status/status-pill.tsx'
import { Ago } from '../time/ago.tsx'
import styles from './events.module.css'
import { BackToReplays } from './replay-page.tsx'
import { stateOfReplay } from './replay-states.ts'

const REFRESH_MS = 1_000
/** After the last dispatch the acknowledgements still come in. */
const REFRESH_ENDED_MS = 5_000

/** The progress of a replay. */
export function ReplayProgressPage() {
  const { replay: replayId } = useParams({ from: '/$account/events/replays/$replay' })
  const { data, error, refetch } = useQuery(
    ReplayService.method.getReplay,
    { replayId },
    {
      refetchInterval: ({ state }) =>
        state.data?.replay?.state === ReplayState.RUNNING ? REFRESH_MS : REFRESH_ENDED_MS,
    },
  )
  return (
    <Page title="Replay" actions={<BackToReplays />}>
      {data?.replay ? (
        <ReplayView replay={data.replay} refresh={() => void refetch()} />
      ) : error ? (
        <ErrorState error={error} retry={() => void refetch()} />
      ) : (
        <LoadingBlock height={160} />
      )}
    </Page>
  )
}

function ReplayView({ replay, refresh }: { replay: Replay; refresh(): void }) {
  const { state, total, dispatched, acknowledged, waiting, perSecond, createdAt, endedAt, createdBy, workflowUrl } =
    replay
  const missing = total - dispatched
  const isShort = state === ReplayState.FINISHED && replay.filter?.notAcknowledged === true && missing > 0
  const givenUp = Math.max(0, dispatched - acknowledged - waiting)
  const mayChange = useMay(Role.MEMBER)
  const cancel = useMutation(ReplayService.method.cancelReplay, { onSuccess: refresh })
  const share = (count: number) => (total === 0 ? 0 : (count / total) * 100)
  return (
    <Stack gap="md" className={styles.replay}>
      <p role="status" className={styles.progress}>
        <Pill {...stateOfReplay(replay)} large />
        <span>
          {countOf(dispatched)} of {countOf(total)} events dispatched, {countOf(acknowledged)} acknowledged
          {waiting > 0 && `, ${countOf(waiting)} waiting for an attempt`}
          {givenUp > 0 && `, ${countOf(givenUp)} given up`}.
          {isShort && ` The other ${missing === 1 ? 'one was' : `${countOf(missing)} were`} acknowledged meanwhile.`}
        </span>
      </p>
      <Progress.Root size="lg">
        <Progress.Section value={share(acknowledged)} color="var(--delivered)" aria-label="Acknowledged" />
        <Progress.Section value={share(givenUp)} color="var(--error)" aria-label="Given up" />
        <Progress.Section value={share(waiting)} color="var(--neutral)" aria-label="Waiting for an attempt" />
      </Progress.Root>
      <p className="soft">
        Started <Ago at={createdAt} /> by {createdBy}, at most {countOf(perSecond)}{' '}
        {perSecond === 1 ? 'event' : 'events'} per second.
        {endedAt && (
          <>
            {' '}
            Ended <Ago at={endedAt} />.
          </>
        )}
      </p>
      {state === ReplayState.RUNNING && dispatched < total && (
        <p className="soft">
          The newest events follow 20 seconds later, because some may still be on their way to the store.
        </p>
      )}
      {givenUp > 0 && <GivenUp replay={replay} />}
      <Group gap="sm">
        {state === ReplayState.RUNNING && mayChange && (
          <Button
            variant="default"
            loading={cancel.isPending}
            onClick={() => cancel.mutate({ replayId: replay.replayId })}
          >
            Cancel replay
          </Button>
        )}
        {workflowUrl && (
          <a href={workflowUrl} target="_blank" rel="noreferrer" className="text-link">
            Workflow in Temporal
          </a>
        )}
      </Group>
      <CallFault error={cancel.error} />
    </Stack>
  )
}

/** The way to send again what the endpoint has not acknowledged. */
function GivenUp({ replay: { filter } }: { replay: Replay }) {
  const { membership } = useAccount()
  const timeOf = (at: Timestamp | undefined) => at && timestampDate(at).toISOString()
  return (
    <p className="soft">
      No attempt follows for an event that is given up. Repair the endpoint, then{' '}
      <Link
        to="/$account/events/replay"
        params={{ account: membership.accountId }}
        search={{ from: timeOf(filter?.from), to: timeOf(filter?.to), missed: 'true' }}
        className="text-link"
      >
        replay what it did not acknowledge
      </Link>
      .
    </p>
  )
}
