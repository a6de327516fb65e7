// Loaded before a program of ours: when the process that started it is gone, it ends as if it had been told to.
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
