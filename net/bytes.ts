/** The same bytes as a Buffer, without a copy. Bytes that another thread moved here are none. */
export const bufferOf = ({ buffer, byteOffset, length }: Uint8Array): Buffer => Buffer.from(buffer, byteOffset, length)
