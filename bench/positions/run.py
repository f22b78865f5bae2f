#!/usr/bin/env python3
"""What commit-safe positions cost an append, by the ways to have them. See docs/events-positions.md.

    bench/positions/run.py postgres://postgres@127.0.0.1:5432/postgres [--seconds 20] [--rounds 3] [--clients 8]

Makes its tables in a schema of its own (`bench_positions`) and drops it at the end. Needs pgbench 14 or later on the path,
and a server with `fsync` and `synchronous_commit` on; it says what it found. Every variant writes one event and one row of
the outbox in one transaction and one round trip (pgbench's pipelines, statements prepared); each client has a stream of
its own. The variants take turns within a round, so that what disturbs the machine disturbs all of them.
"""

import argparse
import os
import pathlib
import re
import statistics
import subprocess
import tempfile
import time

SQL = pathlib.Path(__file__).resolve().parents[2] / "crates/tenure-postgres/sql"
SCHEMA = "bench_positions"
PAYLOAD = '{"order": 7, "customer": "ada", "lines": [{"sku": "a-1", "count": 2}, {"sku": "b-9", "count": 1}]}'
NEXT = "(SELECT coalesce(pg_sequence_last_value('{events_sequence}'::regclass) + 1, 1) AS k FROM {events_sequence})"
CLASSES = {"wakeup_class": str(0x74656E77), "position_class": str(0x74656E70)}


def fill(text):
    """What the crate's statements.rs does."""
    text = text.replace("{next}", NEXT).replace("{prefix}", "tenure_").replace("{events_sequence}", '"tenure_events_position_seq"')
    text = text.replace("{events_channel}", "tenure_events_").replace("{wakeup_channel}", "tenure_outbox_")
    for name, value in CLASSES.items():
        text = text.replace("{%s}" % name, value)
    return re.sub(r"\{([a-z_]+)\}", r'"tenure_\1"', text)


def cut(text, words):
    """The form of the statement for one kind of append, as Shape::cut does it."""
    lines, keeps = [], True
    for line in map(str.strip, text.splitlines()):
        if line.startswith("-- if "):
            keeps = all(word in words for word in line[6:].split(" "))
        elif line == "-- end":
            keeps = True
        elif keeps and not line.startswith("--"):
            lines.append(line)
    return " ".join(lines).replace("{any}", "false")


def ours():
    text = fill(cut((SQL / "events_append.sql").read_text(), {"exact", "events", "lone", "dispatches", "single", "own", "unmarked"}))
    one = "ARRAY[%s]"
    values = {
        1: "'s' || :client_id", 2: ":v::bigint", 3: one % "gen_random_uuid()::text", 4: one % "'OrderPlaced'",
        5: one % "1", 6: one % "NULL", 7: one % "NULL", 8: one % "NULL", 9: one % "NULL", 10: one % f"'{PAYLOAD}'",
        11: one % "NULL", 16: one % "md5(:client_id::text || ' ' || :v::text)", 17: one % "'s' || :client_id::text", 18: one % ":v::bigint",
        19: one % "0", 20: one % "'orders'", 21: one % "'OrderPlaced'", 22: one % f"'{PAYLOAD}'", 23: one % "NULL",
        24: one % "NULL", 25: one % "NULL", 26: one % "0",
    }
    values = {n: value.replace(":client_id", ":client_id::text", 1) if "::text" not in value else value
              for n, value in values.items()}
    return re.sub(r"\$(\d+)", lambda match: "(" + values[int(match[1])] + ")", text) + ";"


# (The id of the dispatch is no random one: the look whether it is there already must be able to use the index.)

# As on connections of the store (outbox/statements.rs): a plan that is kept was made when the tables were empty.
PLANNER = ["enable_seqscan=off", "enable_bitmapscan=off", "enable_hashjoin=off", "enable_mergejoin=off",
           "enable_material=off", "max_parallel_workers_per_gather=0", "jit=off", "plan_cache_mode=force_generic_plan"]

COLUMNS = "stream, version, event_id, type, schema_version, any_version, payload"
VALUES = f"'s' || :client_id::text, :v::bigint + 1, gen_random_uuid(), 'OrderPlaced', 1, false, '{PAYLOAD}'"
OUTBOX = (
    "INSERT INTO tenure_outbox (message_id, source, source_seq, topic, type, payload) VALUES "
    f"(gen_random_uuid(), 's' || :client_id::text, :v::bigint, 'orders', 'OrderPlaced', '{PAYLOAD}');"
)
STREAM = "UPDATE tenure_streams SET version = version + 1 WHERE stream = 's' || :client_id::text AND version = :v::bigint;"


def event(table, extra_columns="", extra_values=""):
    return f"INSERT INTO {table} ({COLUMNS}{extra_columns}) VALUES ({VALUES}{extra_values});"


def transaction(*statements):
    return "\n".join(["\\startpipeline", "BEGIN;", *statements, "COMMIT;", "\\endpipeline"])


COUNTED = (
    "WITH taken AS (UPDATE bench_counter SET n = n + 1 RETURNING n) "
    f"INSERT INTO bench_counted (position, {COLUMNS}) SELECT n, {VALUES} FROM taken;"
)

VARIANTS = {
    "by hand": transaction(event("tenure_events"), OUTBOX),
    "by hand, with a row per stream": transaction(STREAM, event("tenure_events"), OUTBOX),
    "counter row, locked last": transaction(STREAM, OUTBOX, COUNTED),
    "sequencer numbers rows later": transaction(STREAM, event("bench_sequenced"), OUTBOX),
    "xid column and its index": transaction(STREAM, event("bench_xid"), OUTBOX),
    "ours": ours(),
}

# What stands beside the writers in one variant: it numbers what has been committed, every 10 ms.
SEQUENCER = """\\sleep 10 ms
WITH next AS (SELECT id, row_number() OVER (ORDER BY id) AS place FROM bench_sequenced WHERE position IS NULL),
     base AS (SELECT n FROM bench_counter FOR UPDATE),
     done AS (UPDATE bench_sequenced AS s SET position = base.n + next.place FROM next, base WHERE s.id = next.id RETURNING 1)
UPDATE bench_counter SET n = n + (SELECT count(*) FROM done);
"""

TABLES = """
CREATE TABLE bench_counter (n bigint NOT NULL) WITH (fillfactor = 10);
INSERT INTO bench_counter VALUES (0);
CREATE TABLE bench_counted (LIKE tenure_events INCLUDING DEFAULTS, PRIMARY KEY (position), UNIQUE (stream, version));
CREATE UNIQUE INDEX ON bench_counted (event_id) WHERE any_version;
CREATE TABLE bench_sequenced (LIKE tenure_events INCLUDING DEFAULTS, id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    UNIQUE (stream, version));
ALTER TABLE bench_sequenced ALTER position DROP NOT NULL;
CREATE UNIQUE INDEX ON bench_sequenced (position);
CREATE INDEX ON bench_sequenced (id) WHERE position IS NULL;
CREATE UNIQUE INDEX ON bench_sequenced (event_id) WHERE any_version;
CREATE TABLE bench_xid (LIKE tenure_events INCLUDING ALL, xid xid8 NOT NULL DEFAULT pg_current_xact_id());
CREATE INDEX ON bench_xid (xid, position);
"""


def psql(url, sql):
    command = ["psql", url, "-X", "-q", "-t", "-A", "-v", "ON_ERROR_STOP=1", "-c", sql]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def fresh(url, clients):
    """Empty tables, and one stream for each client."""
    psql(url, f"SET client_min_messages = error; DROP SCHEMA IF EXISTS {SCHEMA} CASCADE; CREATE SCHEMA {SCHEMA}")
    for name in ["0001_leases", "0002_outbox", "0003_events"]:
        psql(url, fill((SQL / f"migrations/{name}.sql").read_text()))
    psql(url, TABLES)
    psql(url, f"INSERT INTO tenure_streams SELECT 's' || n, 0 FROM generate_series(0, {clients - 1}) AS n")
    psql(url, "CHECKPOINT")


def server_cpu(url):
    """How much processor time ended sessions have used, in seconds; None where the server is on another machine.

    Tells more than throughput does on a machine that others use as well.
    """
    try:
        pid = psql(url, "SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)")
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")
    except (OSError, subprocess.CalledProcessError):
        return None


def measure(url, name, options, folder):
    """Appends per second, and microseconds of the server's processors for each."""
    fresh(url, options.clients)
    before = server_cpu(url)
    script = folder / "variant.sql"
    # The version goes on only after the transaction: a failed one ends the client, and is seen in the count.
    script.write_text(VARIANTS[name] + "\n\\set v :v + 1\n")
    beside = None
    if name.startswith("sequencer"):
        (folder / "sequencer.sql").write_text(SEQUENCER)
        beside = subprocess.Popen(
            ["pgbench", url, "-n", "-c", "1", "-T", str(options.seconds), "-f", str(folder / "sequencer.sql")],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    command = ["pgbench", url, "-n", "-M", "prepared", "-c", str(options.clients), "-j", "2", "-T",
               str(options.seconds), "-D", "v=0", "-f", str(script)]
    done = subprocess.run(command, capture_output=True, text=True)
    if beside:
        beside.wait()
    if "aborted" in done.stderr or done.returncode != 0:
        raise SystemExit(f"{name}: {done.stderr[-2000:]}")
    time.sleep(1)  # the last sessions end
    after = server_cpu(url)
    count = int(re.search(r"actually processed: (\d+)", done.stdout)[1])
    spent = (after - before) * 1e6 / count if before is not None and after is not None else float("nan")
    return float(re.search(r"tps = ([\d.]+)", done.stdout)[1]), spent


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--clients", type=int, default=8)
    options = parser.parse_args()
    separator = "&" if "?" in options.url else "?"
    settings = [f"search_path={SCHEMA}", *PLANNER]
    url = options.url + separator + "options=" + "%20".join("-c" + one.replace("=", "%3D") for one in settings)
    durable = [f"{name} = {psql(url, f'SHOW {name}')}" for name in ("server_version", "fsync", "synchronous_commit")]
    print(", ".join(durable), f"clients = {options.clients}, seconds = {options.seconds}", flush=True)
    results = {name: [] for name in VARIANTS}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.rounds):
            for name in VARIANTS:
                results[name].append(measure(url, name, options, pathlib.Path(folder)))
                rate, spent = results[name][-1]
                print(f"round {number + 1}: {name}: {rate:.0f}/s, {spent:.0f} us of processor each", flush=True)
    print("\n| variant | appends/s (median) | rounds | processor time each (median) |\n|---|---|---|---|")
    for name, rounds in results.items():
        rates, spent = [rate for rate, _ in rounds], statistics.median(spent for _, spent in rounds)
        each = ", ".join(f"{rate:.0f}" for rate in rates)
        print(f"| {name} | {statistics.median(rates):.0f} | {each} | {spent:.0f} µs |")
    psql(url, f"SET client_min_messages = error; DROP SCHEMA {SCHEMA} CASCADE")


if __name__ == "__main__":
    main()
