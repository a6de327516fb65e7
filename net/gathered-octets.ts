/** Octets that arrive in pieces of any size. To add a piece costs what it holds, however much came before. */
export class GatheredOctets {
  #space = Buffer.alloc(0)
  #length = 0

  get length(): number {
    return this.#length
  }

  /** All that came, until the next `add` or `clear`. */
  get octets(): Buffer {
    return this.#space.subarray(0, this.#length)
  }

  /** Adds a copy: a few octets must not keep a large piece in memory. */
  add(piece: Buffer): void {
    const length = this.#length + piece.length
    if (length > this.#space.length) {
      const space = Buffer.allocUnsafeSlow(Math.max(length, 2 * this.#space.length))
      this.octets.copy(space)
      this.#space = space
    }
    piece.copy(this.#space, this.#length)
    this.#length = length
  }

  clear(): void {
    this.#space = Buffer.alloc(0)
    this.#length = 0
  }
}
