import { Modal, type ModalProps } from '@mantine/core'
import { useEffect } from 'react'
import { HIDDEN, useIsCovered } from './open-dialogs.ts'

/**
 * A dialog. One is seen at a time: while another is open above it, it is hidden with all that was typed in it. The focus
 * returns to where it was before the dialog.
 */
export function Dialog({ closeOnEscape = true, ...props }: ModalProps) {
  const { opened } = props
  const isCovered = useIsCovered(opened)
  useFocusBack(opened)
  return (
    <Modal
      {...props}
      closeOnEscape={closeOnEscape && !isCovered}
      trapFocus={!isCovered}
      returnFocus={false}
      style={isCovered ? HIDDEN : undefined}
    />
  )
}

/** A dialog moves the focus in its own task, after the effects of its opening and its end. */
function useFocusBack(opened: boolean): void {
  useEffect(() => {
    if (!opened) return
    const before = document.activeElement
    return () =>
      void setTimeout(() => {
        if (document.activeElement === document.body && before instanceof HTMLElement) before.focus()
      })
  }, [opened])
}
