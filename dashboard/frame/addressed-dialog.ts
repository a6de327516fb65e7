import { useLocation, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { Role } from '../../gen/verdict/admin/v1/options_pb.ts'
import { useMay } from '../account/account.ts'

/**
 * A dialog that changes the account. It stays closed for readers. The page's address can open it, too:
 * `/settings/keys#create`. The palette links to it.
 */
export function useAddressedDialog(name: string) {
  const isAddressed = useLocation({ select: ({ hash }) => hash === name })
  const mayChange = useMay(Role.MEMBER)
  const navigate = useNavigate()
  const [isOpen, setOpen] = useState(false)
  return [
    mayChange && (isOpen || isAddressed),
    {
      open: () => setOpen(true),
      close() {
        setOpen(false)
        if (isAddressed) void navigate({ to: '.', search: true, hash: '', replace: true })
      },
    },
  ] as const
}
