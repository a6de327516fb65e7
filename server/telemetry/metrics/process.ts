import type { Definition } from '../instruments.ts'

/** The process itself. `thread` is `main`, or `first_attempts` for the thread that makes first webhook attempts. */
export const PROCESS = {
  build: {
    kind: 'gauge',
    name: 'verdict_build_info',
    help: 'Always 1. Its labels are the version of the service, the version of Node and the process.',
    labels: { version: 1, node: 1, process: ['api', 'worker'] },
  },
  startTime: {
    kind: 'gauge',
    name: 'verdict_process_start_time_seconds',
    help: 'When the process started, in Unix seconds.',
  },
  cpu: {
    kind: 'counter',
    name: 'verdict_process_cpu_seconds_total',
    help: 'Processor time of the process with all its threads, by mode.',
    labels: { mode: ['user', 'system'] },
  },
  memory: {
    kind: 'gauge',
    name: 'verdict_process_memory_bytes',
    help: 'Memory of the process: resident, heap (JavaScript objects of the main thread) and external (buffers).',
    labels: { kind: ['resident', 'heap', 'external'] },
  },
  openFiles: {
    kind: 'gauge',
    name: 'verdict_process_open_fds',
    help: 'Open files and sockets of the process.',
  },
  openFilesLimit: {
    kind: 'gauge',
    name: 'verdict_process_max_fds',
    help: 'The most files and sockets that the process may open.',
  },
  eventLoopDelay: {
    kind: 'gauge',
    name: 'verdict_event_loop_delay_seconds',
    help: 'How late timers were in the last 10 to 20 seconds, by thread: median, 99th percentile and largest.',
    labels: { thread: ['main', 'first_attempts'], statistic: ['p50', 'p99', 'max'] },
  },
  eventLoopBusy: {
    kind: 'counter',
    name: 'verdict_event_loop_busy_seconds_total',
    help: 'Time in which an event loop did not wait, by thread. A rate of 1 means that the thread has no time left.',
    labels: { thread: ['main', 'first_attempts'] },
  },
} as const satisfies Record<string, Definition>
