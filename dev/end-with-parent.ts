// Preloaded into the API and the worker: they drain, as on SIGTERM, when the process that started them ends.
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
