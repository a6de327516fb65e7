import { useMutation, useQuery } from '@connectrpc/connect-query'
import { Button } from '@mantine/core'
import { PersonService, type Session } from '../../../gen/verdict/admin/v1/person_pb.ts'
import { CallFault, ErrorState } from '../../feedback/error-state.tsx'
import { LoadingRows } from '../../lists/loading-rows.tsx'
import { type Column, Rows } from '../../lists/rows.tsx'
import { OutsideText } from '../../outside-text/outside-text.tsx'
import { useRefresh } from '../../refresh.ts'
import { Ago } from '../../time/ago.tsx'
import styles from '../settings.module.css'
import { browserOf } from './browsers.ts'

/** The browsers in which the person is signed in. */
export function SessionsSection() {
  const list = useQuery(PersonService.method.listSessions)
  const refresh = useRefresh()
  const end = useMutation(PersonService.method.endSession, {
    onSuccess: () => refresh(PersonService.method.listSessions),
  })
  const columns: Column<Session>[] = [
    ...COLUMNS,
    {
      head: 'Actions',
      quiet: true,
      cell: ({ sessionId, current, userAgent }) =>
        current ? (
          <span className="faint">This browser</span>
        ) : (
          <Button
            variant="default"
            size="xs"
            loading={end.isPending && end.variables.sessionId === sessionId}
            onClick={() => end.mutate({ sessionId })}
            aria-label={`End session of ${browserOf(userAgent)}`}
          >
            End session
          </Button>
        ),
    },
  ]
  return (
    <section className={styles.section}>
      <h2>Sessions</h2>
      <p className="soft">Where you are signed in. End a session that you do not know, then change your password.</p>
      <CallFault error={end.error} />
      {list.error && !list.data ? (
        <ErrorState error={list.error} retry={() => void list.refetch()} />
      ) : list.data ? (
        <Rows label="Sessions" columns={columns} rows={list.data.sessions} idOf={(session) => session.sessionId} />
      ) : (
        <LoadingRows columns={columns} rows={2} />
      )}
    </section>
  )
}

const COLUMNS: Column<Session>[] = [
  { head: 'Browser', wide: true, cell: ({ userAgent }) => <OutsideText text={browserOf(userAgent)} line /> },
  { head: 'Address', cell: ({ remoteAddress }) => <code>{remoteAddress}</code> },
  { head: 'Signed in', cell: ({ createdAt }) => <Ago at={createdAt} /> },
  { head: 'Last used', cell: ({ current, lastUsedAt }) => (current ? 'Now' : <Ago at={lastUsedAt} />) },
]
