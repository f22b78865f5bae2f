// Who takes part, at what, and where each keeps the jobs that are not finished.
//
// `settings` are those it is measured with; `same` names measurements at which its best settings are its defaults.
// Those that append name their table of `events`, and that of the `messages` if they have an `outbox`; `tenure bench` removes its own.

export const jobs = ["drain", "enqueue", "latency"];
export const measurements = [...jobs, "append"];
const plain = { peer: "plain", settings: ["ceiling"], measures: ["enqueue", "append"], outbox: true, events: "plain_events", messages: "plain_jobs" };

export const contestants = [
  { name: "plain-rust", title: "by hand (Rust)", runtime: "rust", ...plain, why: { drain: "`tenure bench drain` measures it, and Tenure is not in this run", latency: "nothing handles" } },
  { name: "plain-node", title: "by hand (Node)", runtime: "node", ...plain, why: { drain: "not measured", latency: "nothing handles" } },
  { name: "tenure", title: "**Tenure**", runtime: "rust", peer: "tenure", settings: ["defaults"], measures: measurements, outbox: true },
  { name: "tenure-events", title: "**Tenure**, events alone", runtime: "rust", peer: "tenure", settings: ["defaults"], measures: ["append"], more: ["--events-only"] },
  { name: "graphile-worker", title: "graphile-worker (Node)", runtime: "node", left: "graphile_worker._private_jobs", same: ["enqueue"] },
  { name: "graphile_worker", title: "graphile_worker (Rust)", runtime: "rust", left: "graphile_worker._private_jobs", same: ["enqueue"] },
  { name: "pg-boss", title: "pg-boss (Node)", runtime: "node", left: "pgboss.job WHERE state <> 'completed'" },
  { name: "riverqueue", title: "riverqueue (Rust)", runtime: "rust", left: "river_job WHERE state <> 'completed'", same: ["enqueue"] },
  { name: "sqlxmq", title: "sqlxmq (Rust)", runtime: "rust", left: "mq_msgs WHERE id <> uuid_nil()", same: ["enqueue", "latency"] },
  { name: "pg-transactional-outbox", title: "pg-transactional-outbox (Node)", runtime: "node", left: "outbox WHERE processed_at IS NULL", same: ["enqueue"] },
  { name: "postgres-es", title: "postgres-es with cqrs-es (Rust)", runtime: "rust", measures: ["append"], events: "events" },
  { name: "emmett", title: "Emmett (Node)", runtime: "node", measures: ["append"], events: "emt_messages" },
].map((contestant) => ({ peer: contestant.name, settings: ["best", "defaults"], measures: jobs, outbox: false, same: [], why: {}, ...contestant }));
