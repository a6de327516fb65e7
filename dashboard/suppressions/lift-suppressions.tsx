import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { useMutation } from '@connectrpc/connect-query'
import { Button, Stack } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useState } from 'react'
import { SuppressionService } from '../../gen/verdict/v1/suppression_pb.ts'
import { Dialog } from '../dialog/dialog.tsx'
import { DialogButtons } from '../feedback/dialog-buttons.tsx'
import { CallFault } from '../feedback/error-state.tsx'
import { LoadingBlock } from '../feedback/loading.tsx'
import { countOf } from '../numbers/quantities.ts'
import { OutsideText } from '../outside-text/outside-text.tsx'
import { useRefresh } from '../refresh.ts'
import styles from './suppressions.module.css'
import type { LiftRequest } from './suppressions.ts'

/** Removes the entries of a time that bounces made, after it has shown them. */
export function LiftSuppressions({ filters }: { filters: LiftRequest }) {
  const [opened, { open, close }] = useDisclosure()
  const refresh = useRefresh()
  const preview = useMutation(SuppressionService.method.lift)
  const [previewed, setPreviewed] = useState(filters)
  const lift = useMutation(SuppressionService.method.lift, {
    async onSuccess() {
      await refresh(SuppressionService.method.list)
      close()
    },
  })
  // A range without an end ends now, so that what comes later is not removed unseen.
  const ask = () => {
    const shown = { ...filters, createdTo: filters.createdTo ?? timestampFromMs(Date.now()) }
    setPreviewed(shown)
    open()
    preview.mutate({ ...shown, dryRun: true })
  }
  const count = preview.data?.lifted ?? 0
  const entries = count === 1 ? '1 entry' : `${countOf(count)} entries`
  const reset = () => {
    preview.reset()
    lift.reset()
  }
  return (
    <>
      <Button variant="default" size="xs" disabled={!filters.createdFrom} onClick={ask}>
        Lift bounces of this time
      </Button>
      <Dialog opened={opened} onClose={close} title="Lift bounces of this time" onExitTransitionEnd={reset}>
        <Stack gap="md">
          {preview.isPending && <LoadingBlock height={120} />}
          {preview.data && (
            <>
              <p>
                {count === 0
                  ? 'No bounce made an entry in this time that matches the filters.'
                  : 'These addresses can be mailed again, and what counted against them is forgotten. Complaints, imports and entries made by hand stay.'}
              </p>
              <ul className={styles.lifted} aria-label="Addresses">
                {preview.data.entries.map(({ email, tenantId }) => (
                  <li key={`${tenantId} ${email}`}>
                    <OutsideText text={email} line />
                  </li>
                ))}
              </ul>
              {count > preview.data.entries.length && (
                <p className="soft">and {countOf(count - preview.data.entries.length)} more</p>
              )}
            </>
          )}
          <CallFault error={preview.error ?? lift.error} />
          <DialogButtons
            verb={count === 0 ? 'Lift' : `Lift ${entries}`}
            onClose={close}
            onConfirm={() => lift.mutate(previewed)}
            disabled={count === 0}
            pending={lift.isPending}
          />
        </Stack>
      </Dialog>
    </>
  )
}
