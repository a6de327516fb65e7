import { IconChevronLeft, IconChevronRight } from '@tabler/icons-react'
import { Link, useSearch } from '@tanstack/react-router'
import { useEffect } from 'react'
import { useAccount } from '../account/account.ts'
import styles from './message.module.css'
import type { MessageSearch } from './message-filters.ts'

interface ShownList {
  account: string
  search: MessageSearch
  ids: string[]
}

/** The list that was shown last: a message that was opened from it leads back to it, and to its neighbours. */
let shown: ShownList | undefined

export function useShownList(account: string, search: MessageSearch, ids: string[] | undefined): void {
  useEffect(() => {
    if (ids) shown = { account, search, ids }
  })
}

/** Leads to the list, and to the messages before and after this one in it. */
export function Neighbours({ messageId }: { messageId: string }) {
  const { membership } = useAccount()
  const account = membership.accountId
  const list = shown?.account === account ? shown : undefined
  const at = list?.ids.indexOf(messageId) ?? -1
  const [newer, older] = at < 0 ? [] : [list?.ids[at - 1], list?.ids[at + 1]]
  const { event } = useSearch({ from: '/$account/messages/$message' })
  const isOfList = event === undefined
  return (
    <nav className={styles.neighbours} aria-label="Messages around this one">
      {isOfList ? (
        <Link
          to="/$account/messages"
          params={{ account }}
          search={(at >= 0 && list?.search) || {}}
          className="text-link"
        >
          Messages
        </Link>
      ) : (
        <Link to="/$account/events" params={{ account }} className="text-link">
          Events
        </Link>
      )}
      {isOfList && newer && (
        <Link to="/$account/messages/$message" params={{ account, message: newer }} className="text-link">
          <IconChevronLeft size={14} aria-hidden />
          Newer
        </Link>
      )}
      {isOfList && older && (
        <Link to="/$account/messages/$message" params={{ account, message: older }} className="text-link">
          Older
          <IconChevronRight size={14} aria-hidden />
        </Link>
      )}
    </nav>
  )
}
