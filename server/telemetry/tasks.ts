import type { DEFINITIONS, Metrics } from './metrics.ts'

export type Task = (typeof DEFINITIONS)['taskRuns']['labels']['task'][number]

/** Counts the runs of regular work. Returns a function that wraps the work of a task. */
export function countTasks({ taskRuns, taskSuccess }: Pick<Metrics, 'taskRuns' | 'taskSuccess'>) {
  const succeededAt = new Map<Task, number>()
  taskSuccess.read(() => Array.from(succeededAt, ([task, seconds]) => [{ task }, seconds]))

  return <T>(task: Task, work: () => Promise<T>) =>
    async (): Promise<T> => {
      try {
        const result = await work()
        taskRuns.add({ task, result: 'ok' })
        succeededAt.set(task, Date.now() / 1_000)
        return result
      } catch (error) {
        taskRuns.add({ task, result: 'failed' })
        throw error
      }
    }
}
