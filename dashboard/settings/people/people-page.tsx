import { useMutation, useQuery } from '@connectrpc/connect-query'
import { Button, Group } from '@mantine/core'
import { useState } from 'react'
import { AccountService } from '../../../gen/verdict/admin/v1/account_pb.ts'
import { NotificationState } from '../../../gen/verdict/admin/v1/notifications_pb.ts'
import { Role } from '../../../gen/verdict/admin/v1/options_pb.ts'
import {
  type Invitation,
  type ListPeopleResponse,
  PeopleService,
  type Person,
} from '../../../gen/verdict/admin/v1/people_pb.ts'
import { ROLE_WORDS, useAccount, useMay } from '../../account/account.ts'
import { ReaderNote } from '../../account/reader-note.tsx'
import { CallFault, ErrorState } from '../../feedback/error-state.tsx'
import { Page } from '../../frame/page.tsx'
import { LoadingRows } from '../../lists/loading-rows.tsx'
import { type Column, Rows } from '../../lists/rows.tsx'
import { EmailAddress } from '../../outside-text/address.tsx'
import { useRefresh } from '../../refresh.ts'
import { shownIn } from '../../status/shown-in.ts'
import { Pill } from '../../status/status-pill.tsx'
import { Ago } from '../../time/ago.tsx'
import { STATES } from '../notifications/words.ts'
import { RenameDialog } from '../rename-dialog.tsx'
import styles from '../settings.module.css'
import { InviteDialog } from './invite-dialog.tsx'
import { RemovePersonDialog } from './remove-person-dialog.tsx'
import { RoleSelect } from './role-select.tsx'

/** The people of the account, and the invitations that wait. */
export function PeoplePage() {
  const list = useQuery(PeopleService.method.listPeople)
  const [open, setOpen] = useState<'invite' | 'rename'>()
  const { membership, person } = useAccount()
  const isOwner = useMay(Role.OWNER)
  const close = () => setOpen(undefined)
  const rename = useMutation(AccountService.method.renameAccount)
  const actions = isOwner && (
    <Group gap="xs">
      <Button variant="default" onClick={() => setOpen('rename')}>
        Rename account
      </Button>
      <Button onClick={() => setOpen('invite')}>Invite person</Button>
    </Group>
  )
  return (
    <Page title="People" actions={actions}>
      <ReaderNote />
      {list.error && !list.data ? (
        <ErrorState error={list.error} retry={() => void list.refetch()} />
      ) : list.data ? (
        <People list={list.data} />
      ) : (
        <LoadingRows columns={columnsOf(person.personId, [])} rows={3} />
      )}
      {open === 'invite' && <InviteDialog onClose={close} />}
      {open === 'rename' && (
        <RenameDialog
          title="Rename account"
          name={membership.name}
          save={(name) => rename.mutateAsync({ name })}
          onClose={close}
        />
      )}
    </Page>
  )
}

function People({ list }: { list: ListPeopleResponse }) {
  const isOwner = useMay(Role.OWNER)
  const { person: reader } = useAccount()
  const [leaving, setLeaving] = useState<Person>()
  const owners = list.people.filter(({ role }) => role === Role.OWNER)
  // The service refuses to leave an account without an owner.
  const changeable = isOwner ? list.people.filter((person) => owners.length > 1 || person !== owners[0]) : []
  const columns = columnsOf(reader.personId, changeable)
  if (isOwner) columns.push(removeColumn(changeable, setLeaving))
  return (
    <>
      <Rows label="People" columns={columns} rows={list.people} idOf={(person) => person.personId} />
      {list.invitations.length > 0 && <Invitations invitations={list.invitations} />}
      {leaving && <RemovePersonDialog person={leaving} onClose={() => setLeaving(undefined)} />}
    </>
  )
}

const columnsOf = (you: string, changeable: Person[]): Column<Person>[] => [
  { head: 'Person', bare: true, wide: true, cell: (person) => <PersonName person={person} you={you} /> },
  {
    head: 'Role',
    cell: (person) => (changeable.includes(person) ? <RoleSelect person={person} /> : ROLE_WORDS[person.role]),
  },
  { head: 'Second factor', cell: ({ secondFactor }) => (secondFactor ? 'On' : <span className="faint">Off</span>) },
  { head: 'Joined', cell: ({ joinedAt }) => <Ago at={joinedAt} /> },
]

function PersonName({ person, you }: { person: Person; you: string }) {
  return (
    <div>
      <bdi>{person.name}</bdi> {person.personId === you && <span className="faint">(you)</span>}
      <div className="faint">
        <EmailAddress email={person.email} />
      </div>
    </div>
  )
}

function removeColumn(changeable: Person[], onRemove: (person: Person) => void): Column<Person> {
  return {
    head: 'Actions',
    quiet: true,
    cell: (person) =>
      changeable.includes(person) ? (
        <Button variant="default" size="xs" onClick={() => onRemove(person)} aria-label={`Remove ${person.name}`}>
          Remove
        </Button>
      ) : (
        <span className="faint">The only owner</span>
      ),
  }
}

function MailState({ invitation: { mail, mailOutcome } }: { invitation: Invitation }) {
  if (!mail) return <span className="faint">None</span>
  return (
    <div>
      <Pill {...shownIn(STATES, mail)} />
      {mail === NotificationState.FAILED && <div className="faint">{mailOutcome}</div>}
    </div>
  )
}

function Invitations({ invitations }: { invitations: Invitation[] }) {
  const isOwner = useMay(Role.OWNER)
  const refresh = useRefresh()
  const withdraw = useMutation(PeopleService.method.withdrawInvitation, {
    onSuccess: () => refresh(PeopleService.method.listPeople),
  })
  const columns: Column<Invitation>[] = [
    { head: 'Address', wide: true, cell: ({ email }) => <EmailAddress email={email} /> },
    { head: 'Role', cell: ({ role }) => ROLE_WORDS[role] },
    { head: 'Expires', cell: ({ expiresAt }) => <Ago at={expiresAt} /> },
  ]
  if (invitations.some(({ mail }) => mail)) {
    columns.push({ head: 'Mail', cell: (invitation) => <MailState invitation={invitation} /> })
  }
  if (isOwner) {
    columns.push({
      head: 'Actions',
      quiet: true,
      cell: ({ invitationId, email }) => (
        <Button
          variant="default"
          size="xs"
          onClick={() => withdraw.mutate({ invitationId })}
          aria-label={`Withdraw the invitation of ${email}`}
        >
          Withdraw
        </Button>
      ),
    })
  }
  return (
    <section className={styles.later}>
      <h2>Invitations that wait</h2>
      <p className="soft">
        The link of an invitation was shown when it was created. Withdraw it and invite again when it is lost.
      </p>
      <CallFault error={withdraw.error} />
      <Rows label="Invitations" columns={columns} rows={invitations} idOf={(one) => one.invitationId} />
    </section>
  )
}
