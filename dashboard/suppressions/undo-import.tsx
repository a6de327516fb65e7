import { useMutation } from '@connectrpc/connect-query'
import { Button, Stack } from '@mantine/core'
import { useState } from 'react'
import { type Import, ImportService, ImportState } from '../../gen/verdict/admin/v1/imports_pb.ts'
import { Role } from '../../gen/verdict/admin/v1/options_pb.ts'
import { SuppressionService } from '../../gen/verdict/v1/suppression_pb.ts'
import { useMay } from '../account/account.ts'
import { Dialog } from '../dialog/dialog.tsx'
import { DialogButtons } from '../feedback/dialog-buttons.tsx'
import { CallFault } from '../feedback/error-state.tsx'
import { countOf } from '../numbers/quantities.ts'
import { OutsideText } from '../outside-text/outside-text.tsx'
import { useRefresh } from '../refresh.ts'

interface UndoImportProps {
  of: Pick<Import, 'importId' | 'fileName' | 'imported' | 'state'>
  /** Called after the import was undone. */
  onUndone?(): void
}

/** The button that undoes an import, after a question. Nothing where there is nothing to undo. */
export function UndoImport({ of: { importId, fileName, imported, state }, onUndone }: UndoImportProps) {
  const [isAsked, setAsked] = useState(false)
  const refresh = useRefresh()
  const undo = useMutation(SuppressionService.method.undoImport, {
    async onSuccess() {
      await refresh(ImportService.method.listImports, SuppressionService.method.list)
      setAsked(false)
      onUndone?.()
    },
  })
  const hasEnded = state === ImportState.FINISHED || state === ImportState.CANCELLED
  if (!useMay(Role.MEMBER) || !hasEnded || imported === 0) return null
  return (
    <>
      <Button variant="default" size="xs" onClick={() => setAsked(true)}>
        Undo import
      </Button>
      <Dialog opened={isAsked} onClose={() => setAsked(false)} title="Undo import" onExitTransitionEnd={undo.reset}>
        <Stack gap="md">
          <p>
            {imported === 1 ? 'The address' : `The ${countOf(imported)} addresses`} that the import of{' '}
            <OutsideText text={fileName} /> added can be mailed again. An address stays suppressed that was suppressed
            before, or that something else has added since.
          </p>
          <CallFault error={undo.error} />
          <DialogButtons
            verb="Undo import"
            onClose={() => setAsked(false)}
            onConfirm={() => undo.mutate({ importId })}
            color="red"
            pending={undo.isPending}
          />
        </Stack>
      </Dialog>
    </>
  )
}
