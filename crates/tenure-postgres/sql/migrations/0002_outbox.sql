-- Messages. A row never changes; any program may insert one: topic, type and payload are enough. Nothing about its
-- content is checked here, so that no such insert fails for it: a row that cannot be delivered is parked with a reason.
CREATE TABLE {outbox} (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    message_id    uuid NOT NULL DEFAULT gen_random_uuid(),
    source        text,
    source_seq    bigint NOT NULL DEFAULT 0,
    source_index  integer NOT NULL DEFAULT 0,
    topic         text NOT NULL,
    type          text NOT NULL,
    payload       text,
    payload_bytes bytea,
    content_type  text,
    headers       text,
    deliver_at    timestamptz,
    created_at    timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE UNIQUE INDEX "{prefix}outbox_message_id" ON {outbox} (message_id);

-- One narrow row for each message that is not finished. due_at is null where the source stands still behind a dead
-- message. Rows come and go quickly here: it is vacuumed by their number, not by a share of a backlog.
CREATE TABLE {outbox_pending} (
    id           bigint PRIMARY KEY,
    source       text COLLATE "C",
    source_seq   bigint NOT NULL,
    source_index integer NOT NULL,
    due_at       timestamptz,
    attempts     integer NOT NULL DEFAULT 0,
    forgiven     integer NOT NULL DEFAULT 0
) WITH (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
    autovacuum_vacuum_insert_threshold = -1, autovacuum_vacuum_cost_delay = 0
);
CREATE INDEX "{prefix}outbox_pending_source" ON {outbox_pending} (source, source_seq, source_index, id)
    WHERE source IS NOT NULL;
CREATE INDEX "{prefix}outbox_pending_due" ON {outbox_pending} (due_at, id) WHERE source IS NULL;

-- Every attempt, for ever or until retention takes it with its message. No foreign key: that would cost a third of the
-- speed, and only the store itself writes here.
CREATE TABLE {outbox_attempts} (
    message bigint NOT NULL,
    number  integer NOT NULL,
    at      timestamptz NOT NULL,
    outcome text NOT NULL,
    took_us bigint NOT NULL,
    node    text NOT NULL,
    term    bigint,
    error   text,
    PRIMARY KEY (message, number)
);

-- Messages that were given up, and what an operator decided about them.
CREATE TABLE {outbox_dead} (
    id           bigint PRIMARY KEY,
    source       text COLLATE "C",
    died_at      timestamptz NOT NULL,
    outcome      text NOT NULL,
    reason       text NOT NULL,
    attempts     integer NOT NULL,
    halts        boolean NOT NULL,
    discarded_at timestamptz
);
CREATE INDEX "{prefix}outbox_dead_live" ON {outbox_dead} (id) WHERE discarded_at IS NULL;

-- What receivers have applied or refused.
CREATE TABLE {inbox} (
    consumer    text COLLATE "C" NOT NULL,
    message_id  uuid NOT NULL,
    fingerprint uuid,
    refused     text,
    accepted_at timestamptz NOT NULL,
    PRIMARY KEY (consumer, message_id)
);
CREATE INDEX "{prefix}inbox_accepted_at" ON {inbox} (accepted_at);

-- What happens when a message is inserted: it becomes pending, and a relay that sleeps is woken.
--
-- A relay that sleeps holds an exclusive lock, or waits for it. Whoever gets the shared one has found no relay asleep,
-- and keeps it until the transaction ends: so a relay that goes to sleep has its lock only when everyone who would not
-- wake it has committed, and looks again then. NOTIFY takes a lock that all commits of the database share, hence this.
--
-- The table is named with its schema, as found here: whoever inserts may have another search_path. Lock and channel
-- follow the table's own number, which a restored backup changes. The function may be left over from tables that were
-- dropped.
DO $migration$
DECLARE
    home text := (SELECT n.nspname FROM pg_catalog.pg_class AS c
                  JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
                  WHERE c.oid = '{outbox}'::regclass);
BEGIN
    EXECUTE format($function$
        CREATE OR REPLACE FUNCTION %1$I.%2$I() RETURNS trigger LANGUAGE plpgsql AS $body$
        BEGIN
            INSERT INTO %1$I.%3$I (id, source, source_seq, source_index, due_at)
            VALUES (
                NEW.id,
                CASE WHEN pg_catalog.octet_length(NEW.source) BETWEEN 1 AND 500 THEN NEW.source END,
                NEW.source_seq, NEW.source_index, coalesce(NEW.deliver_at, NEW.created_at)
            );
            IF NOT pg_catalog.pg_try_advisory_xact_lock_shared({wakeup_class}, TG_RELID::integer) THEN
                PERFORM pg_catalog.pg_notify('{wakeup_channel}' || TG_RELID, '');
            END IF;
            RETURN NULL;
        END
        $body$
    $function$, home, '{prefix}outbox_enqueued', '{prefix}outbox_pending');
    EXECUTE format(
        'CREATE TRIGGER %2$I AFTER INSERT ON {outbox} FOR EACH ROW EXECUTE FUNCTION %1$I.%2$I()',
        home, '{prefix}outbox_enqueued'
    );
    -- Who deletes messages deletes what stands for them: a queue without messages would hide those behind it.
    EXECUTE format($function$
        CREATE OR REPLACE FUNCTION %1$I.%2$I() RETURNS trigger LANGUAGE plpgsql AS $body$
        BEGIN
            IF TG_OP = 'TRUNCATE' THEN
                DELETE FROM %1$I.%3$I;
                DELETE FROM %1$I.%4$I;
                DELETE FROM %1$I.%5$I;
            ELSE
                DELETE FROM %1$I.%3$I AS t USING gone AS g WHERE t.id = g.id;
                DELETE FROM %1$I.%4$I AS t USING gone AS g WHERE t.id = g.id;
                DELETE FROM %1$I.%5$I AS t USING gone AS g WHERE t.message = g.id;
            END IF;
            RETURN NULL;
        END
        $body$
    $function$, home, '{prefix}outbox_deleted', '{prefix}outbox_pending', '{prefix}outbox_dead',
        '{prefix}outbox_attempts');
    EXECUTE format(
        'CREATE TRIGGER %2$I AFTER DELETE ON {outbox} REFERENCING OLD TABLE AS gone '
        'FOR EACH STATEMENT EXECUTE FUNCTION %1$I.%2$I()', home, '{prefix}outbox_deleted'
    );
    EXECUTE format(
        'CREATE TRIGGER %3$I AFTER TRUNCATE ON {outbox} FOR EACH STATEMENT EXECUTE FUNCTION %1$I.%2$I()',
        home, '{prefix}outbox_deleted', '{prefix}outbox_truncated'
    );
END
$migration$;
