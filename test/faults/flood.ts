import { connect } from 'node:net'

// `node flood.ts <port> <connections>` runs as a separate process. It opens this many connections to a mail server at a
// time, from addresses in 127.0.0.0/8, and keeps them as long as the server allows. On a message from its parent it
// sends the counts, and then exits if the message is `end`.

const [port, count] = process.argv.slice(2).map(Number) as [number, number]
const NOTHING = () => {}
const behaviours = [
  // Sends nothing.
  NOTHING,
  // Sends a command before the greeting.
  (write: (text: string) => void) => write('EHLO spam.example\r\n'),
  // Sends a line that never ends.
  (write: (text: string) => void) => setInterval(write, 1_000, 'x'.repeat(100)).unref(),
]
/** `held`: those that were greeted and are open. */
const counts = { opened: 0, held: 0, refused: 0, closed: 0 }

for (let i = 0; i < count; i++) {
  const socket = connect({ port, host: '127.0.0.1', localAddress: `127.1.${i >> 8}.${i & 255}` })
  socket.on('connect', () => {
    counts.opened++
    behaviours[i % behaviours.length]!((text) => void socket.write(text))
  })
  let isHeld = false
  socket.on('data', (data) => {
    const isGreeting = data.toString('latin1').startsWith('220')
    if (isGreeting && !isHeld) counts.held++
    isHeld ||= isGreeting
    if (!isGreeting) counts.refused++
  })
  socket.on('error', NOTHING)
  socket.on('close', () => {
    counts.closed++
    if (isHeld) counts.held--
  })
}

process.on('message', (text) => process.send!(counts, () => text === 'end' && process.exit(0)))
