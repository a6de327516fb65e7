import { useLocation, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'

/** A dialog that the page's address can open, too: `/settings/keys#create`. The palette links to it. */
export function useAddressedDialog(name: string) {
  const isAddressed = useLocation({ select: ({ hash }) => hash === name })
  const navigate = useNavigate()
  const [isOpen, setOpen] = useState(false)
  return [
    isOpen || isAddressed,
    {
      open: () => setOpen(true),
      close() {
        setOpen(false)
        if (isAddressed) void navigate({ to: '.', search: true, hash: '', replace: true })
      },
    },
  ] as const
}
