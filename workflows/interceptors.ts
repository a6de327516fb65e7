import type { WorkflowClientInterceptor } from '@temporalio/client'
import type { ActivityInterceptorsFactory } from '@temporalio/worker'
import type { Tracing } from '../server/telemetry/tracing.ts'

// Spans for what Temporal does, where traces are recorded. Workflows have no spans of their own: see trace-header.ts.

/** A span for each call that this process makes to a workflow. The workflow's header continues the current trace. */
export async function clientInterceptors({ isOn }: Tracing): Promise<WorkflowClientInterceptor[]> {
  if (!isOn) return []
  const { OpenTelemetryWorkflowClientInterceptor } = await import(
    '@temporalio/interceptors-opentelemetry/lib/client/index.js'
  )
  return [new OpenTelemetryWorkflowClientInterceptor()]
}

/** A span for each activity, in the trace of its workflow's header. */
export async function activityInterceptors({ isOn }: Tracing): Promise<ActivityInterceptorsFactory[]> {
  if (!isOn) return []
  const { OpenTelemetryActivityInboundInterceptor } = await import(
    '@temporalio/interceptors-opentelemetry/lib/worker/index.js'
  )
  return [(context) => ({ inbound: new OpenTelemetryActivityInboundInterceptor(context) })]
}
