import { useMutation } from '@connectrpc/connect-query'
import { Button, Group } from '@mantine/core'
import { useState } from 'react'
import { PersonService } from '../../../gen/verdict/admin/v1/person_pb.ts'
import { ROLE_WORDS, useAccount } from '../../account/account.ts'
import { Page } from '../../frame/page.tsx'
import { FactList } from '../../lists/fact-list.tsx'
import { SignOutButton } from '../../session/sign-out-button.tsx'
import { RenameDialog } from '../rename-dialog.tsx'
import styles from '../settings.module.css'
import { PasswordSection } from './password-section.tsx'
import { SecondFactorSection } from './second-factor-section.tsx'
import { SessionsSection } from './sessions-section.tsx'
import { SignInMethodsSection } from './sign-in-methods-section.tsx'

/** The person: how they sign in, and where they are signed in. */
export function ProfilePage() {
  const { person, membership } = useAccount()
  const [renaming, setRenaming] = useState(false)
  const rename = useMutation(PersonService.method.changeName)
  const actions = (
    <Group gap="xs">
      <Button variant="default" onClick={() => setRenaming(true)}>
        Change your name
      </Button>
      <SignOutButton />
    </Group>
  )
  return (
    <Page title="Profile" actions={actions}>
      <section className={styles.section}>
        <FactList
          className={styles.facts}
          facts={[
            ['Name', <bdi key="name">{person.name}</bdi>],
            ['Email address', <bdi key="email">{person.email}</bdi>],
            ['Role in this account', ROLE_WORDS[membership.role]],
          ]}
        />
      </section>
      <SignInMethodsSection person={person} />
      {person.hasPassword && <SecondFactorSection isOn={person.secondFactor} />}
      {person.hasPassword && <PasswordSection />}
      {/* The last one: however many sessions there are, nothing moves when they are loaded. */}
      <SessionsSection />
      {renaming && (
        <RenameDialog
          title="Change your name"
          name={person.name}
          save={(name) => rename.mutateAsync({ name })}
          onClose={() => setRenaming(false)}
        />
      )}
    </Page>
  )
}
