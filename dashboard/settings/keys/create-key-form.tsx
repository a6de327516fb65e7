import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { useMutation } from '@connectrpc/connect-query'
import { Checkbox, Input, NativeSelect, Radio, SegmentedControl, TextInput } from '@mantine/core'
import { useState } from 'react'
import { type CreateKeyResponse, KeyService, type ListKeysResponse } from '../../../gen/verdict/admin/v1/keys_pb.ts'
import { fieldFaults } from '../../feedback/call-error.ts'
import { DialogButtons } from '../../feedback/dialog-buttons.tsx'
import { CallFault } from '../../feedback/error-state.tsx'
import { Form } from '../../feedback/form.tsx'
import { useRefresh } from '../../refresh.ts'
import styles from './keys.module.css'
import { ACCESSES, type Access, scopeSentence, scopesOf, USUAL_SCOPES } from './scopes.ts'

const EXPIRIES = [
  { value: '', label: 'Never' },
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In one year' },
]
const DAY_MS = 86_400_000

interface CreateKeyFormProps {
  list: ListKeysResponse
  onCreated(created: CreateKeyResponse): void
  onCancel(): void
}

/** Name, kind, scopes and expiry of a new key. */
export function CreateKeyForm({ list, onCreated, onCancel }: CreateKeyFormProps) {
  const [name, setName] = useState('')
  const [kind, setKind] = useState<'live' | 'test'>('live')
  const [access, setAccess] = useState<Access>('usual')
  const [chosen, setChosen] = useState(USUAL_SCOPES)
  const [days, setDays] = useState('')
  const refresh = useRefresh()
  const create = useMutation(KeyService.method.createKey, {
    onSuccess(created) {
      onCreated(created)
      void refresh(KeyService.method.listKeys)
    },
  })
  const offered = kind === 'live' ? list.liveScopes : list.testScopes
  const scopes = scopesOf(access, offered, chosen)
  const faults = fieldFaults(create.error)
  return (
    <Form
      onSubmit={() => {
        const expiresAt = days === '' ? undefined : timestampFromMs(Date.now() + Number(days) * DAY_MS)
        create.mutate({ name: name.trim(), test: kind === 'test', scopes, expiresAt })
      }}
    >
      <TextInput
        label="Name"
        description="What uses the key, such as “Shop, production”."
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        maxLength={100}
        required
        withAsterisk={false}
        autoComplete="off"
        error={faults.get('name')}
        data-autofocus
      />
      <Input.Wrapper
        label="Kind"
        labelElement="div"
        description={
          kind === 'live' ? 'Sends real email.' : 'Sends are dry runs: every check runs, and nothing is sent.'
        }
        inputWrapperOrder={['label', 'input', 'description']}
      >
        <SegmentedControl
          aria-label="Kind"
          value={kind}
          onChange={(value) => setKind(value as 'live' | 'test')}
          data={[
            { value: 'live', label: 'Live' },
            { value: 'test', label: 'Test' },
          ]}
          transitionDuration={120}
          display="flex"
          w={200}
          mb={4}
        />
      </Input.Wrapper>
      <Radio.Group
        label="What the key may do"
        value={access}
        onChange={(value) => {
          // The boxes begin with what was chosen before.
          setChosen(scopes)
          setAccess(value as Access)
        }}
        error={faults.get('scopes')}
      >
        <div className={styles.scopeList}>
          {ACCESSES.map(([value, label, description]) => (
            <Radio key={value} value={value} label={label} description={description} />
          ))}
        </div>
      </Radio.Group>
      {access === 'chosen' && (
        <Checkbox.Group aria-label="Scopes" value={scopes} onChange={setChosen}>
          <div className={styles.scopeList}>
            {offered.map((scope) => (
              <Checkbox key={scope} value={scope} label={<code>{scope}</code>} description={scopeSentence(scope)} />
            ))}
          </div>
        </Checkbox.Group>
      )}
      <NativeSelect
        label="Expires"
        data={EXPIRIES}
        value={days}
        onChange={(event) => setDays(event.currentTarget.value)}
        w={200}
      />
      {faults.size === 0 && <CallFault error={create.error} />}
      <DialogButtons
        verb="Create key"
        onClose={onCancel}
        pending={create.isPending}
        disabled={name.trim() === '' || scopes.length === 0}
      />
    </Form>
  )
}
