import { type KeyboardEvent, useId, useState } from 'react'

/**
 * A text box with a list of options, by the pattern of ARIA: the focus stays in the box, and the arrow keys move the
 * choice. Spread `box` into the box and `option` into each option.
 */
export function useCombobox(count: number) {
  const id = useId()
  const [chosen, setChosen] = useState(0)
  const optionId = (i: number) => `${id}-${i}`
  return {
    chosen,
    setChosen,
    /** Moves the choice. */
    onKeyDown(event: KeyboardEvent) {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
      if (!step || count === 0) return
      event.preventDefault()
      const next = (chosen + step + count) % count
      setChosen(next)
      document.getElementById(optionId(next))?.scrollIntoView({ block: 'nearest' })
    },
    box: {
      role: 'combobox',
      'aria-expanded': count > 0,
      'aria-controls': id,
      'aria-autocomplete': 'list',
      'aria-activedescendant': count > 0 ? optionId(chosen) : undefined,
      spellCheck: false,
      autoComplete: 'off',
    },
    listId: id,
    option: (i: number) => ({
      id: optionId(i),
      'aria-selected': i === chosen,
      onPointerMove: () => setChosen(i),
    }),
  } as const
}
