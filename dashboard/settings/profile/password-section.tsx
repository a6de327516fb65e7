import { Button } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { PersonService } from '../../../gen/verdict/admin/v1/person_pb.ts'
import { Form } from '../../feedback/form.tsx'
import { useRefresh } from '../../refresh.ts'
import { setNewPassword } from '../../session/auth-calls.ts'
import { AuthFaultNote } from '../../session/auth-fault-note.tsx'
import { PasswordField } from '../../session/password-field.tsx'
import styles from '../settings.module.css'

/** Changes the password, which ends every other session. */
export function PasswordSection() {
  const [current, setCurrent] = useState('')
  const [next, setNext] = useState('')
  const refresh = useRefresh()
  const change = useMutation({
    mutationFn: () => setNewPassword(current, next),
    onSuccess() {
      setCurrent('')
      setNext('')
      notifications.show({ message: 'Your password is changed. Your other sessions have ended.' })
      return refresh(PersonService.method.listSessions)
    },
  })
  return (
    <section className={styles.section}>
      <h2>Password</h2>
      <p className="soft">A new password ends your sessions in every other browser.</p>
      <Form className={styles.form} onSubmit={() => change.mutate()}>
        <PasswordField label="Current password" value={current} onChange={setCurrent} />
        <PasswordField isNew value={next} onChange={setNext} />
        <AuthFaultNote error={change.error} />
        <div>
          <Button type="submit" variant="default" loading={change.isPending} disabled={current === '' || next === ''}>
            Change password
          </Button>
        </div>
      </Form>
    </section>
  )
}
