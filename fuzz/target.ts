import type { Arbitrary } from 'fast-check'

/** One file of this folder: a law that holds for every input, and what generates the inputs. */
export interface Target<Input = unknown> {
  /** The inputs are plain JSON, because one that breaks the law is kept in a file. */
  inputs: Arbitrary<Input>
  /** Starts the programs that the law needs. */
  start(): Promise<Law<Input>>
}

export interface Law<Input = unknown> {
  /** Throws, or rejects, for an input that breaks the law. */
  check(input: Input): void | Promise<void>
  stop(): void | Promise<void>
}

/** A law that needs no program beside it. */
export const alone = async <Input>(check: Law<Input>['check']): Promise<Law<Input>> => ({ check, stop: () => {} })
