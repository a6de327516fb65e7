import { connect } from 'node:net'

// A process of its own: `node flood.ts <port> <connections>` opens so many connections to a mail server at a time, from addresses all
// over 127.0.0.0/8, and keeps them for as long as it is let. Prints what became of them, as JSON, when it is told to end.

const [port, count] = process.argv.slice(2).map(Number) as [number, number]
const NOTHING = () => {}
const behaviours = [
  // Says nothing.
  NOTHING,
  // Talks before it is greeted.
  (write: (text: string) => void) => write('EHLO spam.example\r\n'),
  // Never ends its line.
  (write: (text: string) => void) => setInterval(write, 1_000, 'x'.repeat(100)).unref(),
]
const seen = { opened: 0, greeted: 0, refused: 0, closed: 0 }

for (let i = 0; i < count; i++) {
  const socket = connect({ port, host: '127.0.0.1', localAddress: `127.1.${i >> 8}.${i & 255}` })
  socket.on('connect', () => {
    seen.opened++
    behaviours[i % behaviours.length]!((text) => void socket.write(text))
  })
  socket.on('data', (said) => seen[said.toString('latin1').startsWith('220') ? 'greeted' : 'refused']++)
  socket.on('error', NOTHING)
  socket.on('close', () => seen.closed++)
}

process.on('message', () => process.send!(seen, () => process.exit(0)))
