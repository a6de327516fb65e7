import { type SmtpEvidence, SmtpPhase, type SmtpTimings } from '../../gen/verdict/v1/outcomes_pb.ts'

/** One phase of the conversation with the recipient's server. */
export interface ConversationStep {
  phase: SmtpPhase
  /** What we did: a command as it is in SMTP, or words. */
  ours: string
  isCommand: boolean
  /** Whether the phase decided the outcome. */
  decides: boolean
  /** Where its bar begins and how long it is, in milliseconds. A phase that was not timed has no bar. */
  startMs: number
  durationMs?: number
}

type TimingName = Exclude<keyof SmtpTimings, `$${string}`>

const PHASES: [phase: SmtpPhase, timing: TimingName, ours: string, isCommand: boolean][] = [
  [SmtpPhase.DNS, 'dns', 'Look up the mail servers', false],
  [SmtpPhase.CONNECT, 'connect', 'Connect', false],
  [SmtpPhase.GREETING, 'greeting', 'Wait for the greeting', false],
  [SmtpPhase.EHLO, 'ehlo', 'EHLO', true],
  [SmtpPhase.STARTTLS, 'starttls', 'STARTTLS', true],
  [SmtpPhase.MAIL, 'mail', 'MAIL FROM', true],
  [SmtpPhase.RCPT, 'rcpt', 'RCPT TO', true],
  [SmtpPhase.DATA, 'data', 'DATA', true],
  [SmtpPhase.DOT, 'dot', 'The message and its final dot', false],
]

/**
 * The phases that the evidence tells of, in their order. Each begins where the one before it ended: the evidence has
 * how long they took, and tries at several servers are added up.
 */
export function stepsOf({ phase: reached, timings }: SmtpEvidence): ConversationStep[] {
  const deciding = reached === SmtpPhase.AFTER_DOT ? SmtpPhase.DOT : reached
  let startMs = 0
  return PHASES.flatMap(([phase, timing, ours, isCommand]) => {
    const durationMs = timings?.[timing]
    const decides = phase === deciding
    if (durationMs === undefined && !decides) return []
    const step = { phase, ours, isCommand, decides, startMs, durationMs }
    startMs += durationMs ?? 0
    return [step]
  })
}

/** How long the whole took, and what of it is in no phase: the checks before, and waiting for a connection. */
export function conversationSpan({ timings, durationMs }: SmtpEvidence): { totalMs: number; restMs: number } {
  const timed = PHASES.reduce((sum, [, timing]) => sum + (timings?.[timing] ?? 0), 0)
  const totalMs = Math.max(durationMs, timed)
  return { totalMs, restMs: totalMs - timed }
}

/** `18 ms`, `0.4 ms`, `1.2 s`. */
export function phaseLength(ms: number): string {
  if (ms >= 1000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`
  return `${ms < 10 ? Number(ms.toFixed(1)) : Math.round(ms)} ms`
}
