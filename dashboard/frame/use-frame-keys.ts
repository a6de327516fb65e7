import { useNavigate } from '@tanstack/react-router'
import { useEffect, useEffectEvent } from 'react'
import { useAccount } from '../account/account.ts'
import { RAIL_ENTRIES } from './rail-entries.ts'

/** How long after `g` its second key counts. */
const SEQUENCE_MS = 1200

/** The keys of every page. They do nothing while one types, in a dialog, or with a modifier. */
export function useFrameKeys({ showKeys, showPalette }: { showKeys(): void; showPalette(): void }): void {
  const { membership, person } = useAccount()
  const navigate = useNavigate()

  const goTo = useEffectEvent((key: string) => {
    const entry = RAIL_ENTRIES.find((one) => one.key === key && (!one.inbox || person.installation?.inbox))
    if (entry) void navigate({ to: entry.to, params: { account: membership.accountId } })
    return entry !== undefined
  })
  const act = useEffectEvent((key: string): boolean => {
    if (key === '/') return focusSearch()
    if (key === 'j') return moveRow(1)
    if (key === 'k') return moveRow(-1)
    if (key === '?') showKeys()
    return key === '?'
  })

  const openPalette = useEffectEvent(() => showPalette())

  useEffect(() => {
    let goneAt = Number.NEGATIVE_INFINITY
    const listen = (event: KeyboardEvent) => {
      if (opensPalette(event)) {
        event.preventDefault()
        openPalette()
        return
      }
      if (isElsewhere(event)) return
      const follows = event.timeStamp - goneAt < SEQUENCE_MS
      goneAt = event.key === 'g' && !follows ? event.timeStamp : Number.NEGATIVE_INFINITY
      if (follows ? goTo(event.key) : act(event.key)) event.preventDefault()
    }
    document.addEventListener('keydown', listen)
    return () => document.removeEventListener('keydown', listen)
  }, [])
}

/** Ctrl+K or Command+K, also while a text is typed, but not in a dialog. */
function opensPalette({ key, ctrlKey, metaKey, altKey, shiftKey }: KeyboardEvent): boolean {
  const isKey = key.toLowerCase() === 'k' && (ctrlKey || metaKey) && !altKey && !shiftKey
  return isKey && document.querySelector('[role="dialog"]') === null
}

function isElsewhere(event: KeyboardEvent): boolean {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return true
  const target = event.target as Element
  return target.closest('input, textarea, select, [contenteditable], [role="dialog"], [role="menu"]') !== null
}

function focusSearch(): boolean {
  const box = document.querySelector<HTMLInputElement>('[data-search-box]')
  box?.focus()
  box?.select()
  return box !== null
}

/** Moves the focus to the next or previous row: to the first one when none has it. */
function moveRow(step: 1 | -1): boolean {
  const links = [...document.querySelectorAll<HTMLAnchorElement>('a[data-row-link]')]
  const row = document.activeElement?.closest('tr') ?? undefined
  const at = links.findIndex((link) => row !== undefined && link.closest('tr') === row)
  const next = links[at === -1 ? 0 : Math.min(Math.max(at + step, 0), links.length - 1)]
  next?.focus()
  next?.closest('tr')?.scrollIntoView({ block: 'nearest' })
  return next !== undefined
}
