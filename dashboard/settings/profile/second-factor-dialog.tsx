import { Button, Group, Stack, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { PersonService } from '../../../gen/verdict/admin/v1/person_pb.ts'
import { CodeBlock } from '../../copy/code-block.tsx'
import { Dialog } from '../../dialog/dialog.tsx'
import { Form } from '../../feedback/form.tsx'
import { useRefresh } from '../../refresh.ts'
import { enableSecondFactor, type NewSecondFactor, verifyCode } from '../../session/auth-calls.ts'
import { AuthFaultNote } from '../../session/auth-fault-note.tsx'
import { PasswordField } from '../../session/password-field.tsx'
import styles from './profile.module.css'
import { QrCode } from './qr-code.tsx'

/** Turns the second factor on in three steps: the password, the app, the backup codes. */
export function SecondFactorDialog({ onClose }: { onClose(): void }) {
  const [factor, setFactor] = useState<NewSecondFactor>()
  const [verified, setVerified] = useState(false)
  const refresh = useRefresh()
  const close = () => {
    if (verified) void refresh(PersonService.method.getPerson, PersonService.method.listSessions)
    onClose()
  }
  return (
    <Dialog
      opened
      onClose={close}
      title={verified ? 'Store your backup codes' : 'Turn on the second factor'}
      closeOnClickOutside={!factor}
      closeOnEscape={!verified}
    >
      {!factor && <PasswordStep onDone={setFactor} />}
      {factor && !verified && <AppStep totpURI={factor.totpURI} onDone={() => setVerified(true)} />}
      {factor && verified && <CodesStep codes={factor.backupCodes} onDone={close} />}
    </Dialog>
  )
}

function PasswordStep({ onDone }: { onDone(factor: NewSecondFactor): void }) {
  const [password, setPassword] = useState('')
  const begin = useMutation({ mutationFn: () => enableSecondFactor(password), onSuccess: onDone })
  return (
    <Form onSubmit={() => begin.mutate()}>
      <p className="soft">A change to how you sign in always needs your password.</p>
      <PasswordField label="Your password" value={password} onChange={setPassword} data-autofocus />
      <AuthFaultNote error={begin.error} />
      <Group justify="flex-end">
        <Button type="submit" loading={begin.isPending} disabled={password === ''}>
          Continue
        </Button>
      </Group>
    </Form>
  )
}

function AppStep({ totpURI, onDone }: { totpURI: string; onDone(): void }) {
  const [code, setCode] = useState('')
  const verify = useMutation({ mutationFn: () => verifyCode(code.replaceAll(/\s/g, '')), onSuccess: onDone })
  return (
    <Form onSubmit={() => verify.mutate()}>
      <p className="soft">Scan this with your authenticator app, then enter the code that the app shows.</p>
      <QrCode text={totpURI} />
      <details>
        <summary>Enter the key by hand</summary>
        <CodeBlock code={new URL(totpURI).searchParams.get('secret') ?? ''} label="Key" />
      </details>
      <TextInput
        label="Code"
        inputMode="numeric"
        autoComplete="one-time-code"
        className={styles.code}
        value={code}
        onChange={(event) => setCode(event.currentTarget.value)}
        required
        withAsterisk={false}
        autoFocus
      />
      <AuthFaultNote error={verify.error} />
      <Group justify="flex-end">
        <Button type="submit" loading={verify.isPending} disabled={code.trim() === ''}>
          Turn on
        </Button>
      </Group>
    </Form>
  )
}

function CodesStep({ codes, onDone }: { codes: string[]; onDone(): void }) {
  return (
    <Stack gap="md">
      <p>
        The second factor is on. Store these codes where you find them without your phone. Each signs you in once, and
        they are not shown again.
      </p>
      <CodeBlock code={codes.join('\n')} label="Backup codes" />
      <Group justify="flex-end">
        <Button onClick={onDone}>I have stored the codes</Button>
      </Group>
    </Stack>
  )
}
