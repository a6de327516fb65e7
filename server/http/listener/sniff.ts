import type { Socket } from 'node:net'

// Every HTTP/2 connection begins with this (RFC 9113 3.4), and no HTTP/1.1 request does.
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')

export interface Protocols {
  http1(socket: Socket): void
  http2(socket: Socket): void
}

/**
 * Passes a connection to its protocol by its first bytes, which stay unread. Closes one that sends nothing within the
 * time.
 */
export function sniff(socket: Socket, { http1, http2 }: Protocols, timeoutMs: number): void {
  const timer = setTimeout(() => socket.destroy(), timeoutMs)
  const ignore = () => socket.destroy()
  const stop = () => {
    clearTimeout(timer)
    socket.off('readable', look)
    socket.off('error', ignore)
    socket.off('close', stop)
    socket.off('end', ignore)
  }
  let head = Buffer.alloc(0)
  const look = () => {
    const bytes: Buffer | null = socket.read()
    if (bytes === null) return
    head = Buffer.concat([head, bytes])
    const length = Math.min(head.length, PREFACE.length)
    const isPrefix = head.subarray(0, length).equals(PREFACE.subarray(0, length))
    if (isPrefix && length < PREFACE.length) return
    stop()
    socket.unshift(head)
    if (isPrefix) http2(socket)
    else http1(socket)
  }
  socket.on('readable', look)
  socket.on('error', ignore)
  socket.on('end', ignore)
  socket.on('close', stop)
}
