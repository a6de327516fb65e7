import { useLocalStorage } from '@mantine/hooks'

/** Whether rows are low, in every list of this browser. */
export const useCompactRows = () =>
  useLocalStorage<boolean>({ key: 'verdict.compact', defaultValue: false, getInitialValueInEffect: false })
