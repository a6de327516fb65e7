import { Client, Connection } from '@temporalio/client'

export interface WorkflowTasks<Name extends string> {
  /** Workflows of webhooks. */
  workflows: number
  /** Workflow tasks that failed, for example because the code did not match the history. */
  failed: number
  /** How many tasks were made by a worker of this name after one of another name. */
  continuedBy: Partial<Record<Name, number>>
}

/** Reads from the histories which workers made the tasks of workflows. A worker's identity is `<pid>@<host>`. */
export async function workflowTasks<Name extends string>(
  address: string,
  nameOf: (pid: number) => Name | undefined,
): Promise<WorkflowTasks<Name>> {
  const connection = await Connection.connect({ address })
  const client = new Client({ connection })
  const result: WorkflowTasks<Name> = { workflows: 0, failed: 0, continuedBy: {} }
  for await (const { workflowId } of client.workflow.list({ query: `WorkflowType = 'deliverWebhooks'` })) {
    result.workflows++
    let before: Name | undefined
    const { events } = await client.workflow.getHandle(workflowId).fetchHistory()
    for (const event of events ?? []) {
      if (event.workflowTaskFailedEventAttributes) result.failed++
      const { identity } = event.workflowTaskCompletedEventAttributes ?? {}
      const name = identity ? nameOf(Number.parseInt(identity, 10)) : undefined
      if (name === undefined) continue
      if (before !== undefined && before !== name) result.continuedBy[name] = (result.continuedBy[name] ?? 0) + 1
      before = name
    }
  }
  await connection.close()
  return result
}
