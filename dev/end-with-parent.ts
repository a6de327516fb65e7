// Loaded before a program of ours: it drains as on SIGTERM when the process that started it is gone.
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
