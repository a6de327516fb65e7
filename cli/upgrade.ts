import { Command } from '@commander-js/extra-typings'
import { command, type Print } from './command.ts'
import { createPatient } from './doctor/patient.ts'
import { UPGRADE_GROUPS } from './doctor/upgrade.ts'
import { runDoctor } from './doctor.ts'
import { environment } from './environment.ts'

export const upgradeCommand = (print: Print) =>
  new Command('upgrade')
    .description('See what an upgrade waits for, and that it is complete: check')
    .addCommand(check(print))

const NOTES = `
Run it with the new release: before its migration, and again when all processes of
the new release run. Nothing is changed. Exit codes are those of verdict doctor.`

const check = (print: Print) =>
  command('check', 'verdict upgrade check')
    .summary('Say what an upgrade of the database waits for')
    .description(
      'Say what an upgrade of the database waits for: processes of other releases, migrations, locks, long ' +
        'transactions, space and the age of the last back-up',
    )
    .addHelpText('after', NOTES)
    .action(() => runDoctor(print, createPatient(environment(), undefined), UPGRADE_GROUPS))
