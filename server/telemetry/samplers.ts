import { type Attributes, type Context, type Link, type SpanKind, TraceFlags } from '@opentelemetry/api'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  SamplingDecision,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace'
import type { SamplerName } from '../config/variables.ts'

/** The samplers that OTEL_TRACES_SAMPLER names, by the share of new traces that they record. */
export const SAMPLER_OF: Record<SamplerName, (ratio: number) => Sampler> = {
  always_on: () => new AlwaysOnSampler(),
  always_off: () => new AlwaysOffSampler(),
  traceidratio: (ratio) => new TraceIdRatioBasedSampler(ratio),
  parentbased_always_on: () => parentBased(new AlwaysOnSampler()),
  parentbased_always_off: () => parentBased(new AlwaysOffSampler()),
  parentbased_traceidratio: (ratio) => parentBased(new TraceIdRatioBasedSampler(ratio)),
}

/** A trace that another one caused, as a replay is, is recorded if that one is. */
function parentBased(root: Sampler): Sampler {
  const follow = {
    shouldSample(...span: [Context, string, string, SpanKind, Attributes, Link[]]) {
      const cause = span[5][0]?.context
      if (cause === undefined) return root.shouldSample(...span)
      const isRecorded = (cause.traceFlags & TraceFlags.SAMPLED) !== 0
      return { decision: isRecorded ? SamplingDecision.RECORD_AND_SAMPLED : SamplingDecision.NOT_RECORD }
    },
    toString: () => `Follow{${root}}`,
  }
  return new ParentBasedSampler({ root: follow })
}
