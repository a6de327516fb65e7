import { Button, Checkbox, Divider, Popover, Stack } from '@mantine/core'
import { useLocalStorage } from '@mantine/hooks'
import { IconColumns } from '@tabler/icons-react'
import { useCompactRows } from './compact-rows.ts'

/** A column that a list shows when a person chooses it: its name in the address, and its heading. */
export type ColumnChoice = readonly [name: string, head: string]

/** The columns that the address names, otherwise those chosen last in this browser, in the order of `choices`. */
export function useColumns(list: string, choices: readonly ColumnChoice[], asked: string | undefined) {
  const [stored, setStored] = useLocalStorage<string>({
    key: `verdict.columns.${list}`,
    defaultValue: NONE,
    getInitialValueInEffect: false,
  })
  const names = (asked ?? stored).split(',')
  const shown = choices.map(([name]) => name).filter((name) => names.includes(name))
  return { shown, setStored }
}

/** No further column. An empty value would be left out of the address. */
const NONE = 'none'

/** The chosen columns as the address and the browser store them. */
export const columnsText = (shown: readonly string[]): string => shown.join(',') || NONE

interface ColumnMenuProps {
  choices: readonly ColumnChoice[]
  shown: readonly string[]
  onChange(shown: string[]): void
}

/** Chooses the further columns of a list, and how high its rows are. */
export function ColumnMenu({ choices, shown, onChange }: ColumnMenuProps) {
  const [compact, setCompact] = useCompactRows()
  return (
    <Popover position="bottom-end" trapFocus>
      <Popover.Target>
        <Button variant="default" size="xs" leftSection={<IconColumns size={14} aria-hidden />}>
          Columns
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label="Columns">
        <Stack gap={10}>
          {choices.map(([name, head]) => (
            <Checkbox
              key={name}
              size="xs"
              label={head}
              checked={shown.includes(name)}
              onChange={({ currentTarget: { checked } }) =>
                onChange(
                  choices.map(([each]) => each).filter((each) => (each === name ? checked : shown.includes(each))),
                )
              }
            />
          ))}
          <Divider />
          <Checkbox
            size="xs"
            label="Compact rows"
            checked={compact}
            onChange={(event) => setCompact(event.currentTarget.checked)}
          />
        </Stack>
      </Popover.Dropdown>
    </Popover>
  )
}
