import { Notifications } from '@mantine/notifications'

/** Where `notifications.show` shows what a call has done. */
export function Notices() {
  return <Notifications position="bottom-right" transitionDuration={120} />
}
