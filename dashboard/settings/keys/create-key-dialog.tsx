import { useState } from 'react'
import type { CreateKeyResponse, ListKeysResponse } from '../../../gen/verdict/admin/v1/keys_pb.ts'
import { Dialog } from '../../dialog/dialog.tsx'
import { CreateKeyForm } from './create-key-form.tsx'
import { CreatedKey } from './new-key.tsx'

/** Creates a key, and then shows it once. */
export function CreateKeyDialog({ list, onClose }: { list: ListKeysResponse; onClose(): void }) {
  const [created, setCreated] = useState<CreateKeyResponse>()
  return (
    <Dialog
      opened
      onClose={onClose}
      size="lg"
      title={created ? 'The key is created' : 'Create key'}
      // A stray click would lose the key, which is not shown again.
      closeOnClickOutside={!created}
      closeOnEscape={!created}
    >
      {created ? (
        <CreatedKey created={created} onDone={onClose} />
      ) : (
        <CreateKeyForm list={list} onCreated={setCreated} onCancel={onClose} />
      )}
    </Dialog>
  )
}
