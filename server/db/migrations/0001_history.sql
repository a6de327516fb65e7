-- A terminal state is never left: history refuses every update, whoever asks.
CREATE FUNCTION history_never_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'history never changes: % is only inserted into', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;
--> statement-breakpoint
CREATE TRIGGER never_changes BEFORE UPDATE ON messages FOR EACH ROW EXECUTE FUNCTION history_never_changes();
--> statement-breakpoint
CREATE TRIGGER never_changes BEFORE UPDATE ON recipients FOR EACH ROW EXECUTE FUNCTION history_never_changes();
--> statement-breakpoint
CREATE TRIGGER never_changes BEFORE UPDATE ON events FOR EACH ROW EXECUTE FUNCTION history_never_changes();
--> statement-breakpoint
-- The open tables live and die by the second: room for updates in place, and vacuum often so that they stay small.
ALTER TABLE open_messages SET (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
--> statement-breakpoint
ALTER TABLE open_recipients SET (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
