// Who takes part, at what, and where each keeps the jobs that are not finished.
//
// `settings` are those it is measured with; `same` names measurements at which its best settings are its defaults.

const all = ["drain", "enqueue", "latency"];

export const contestants = [
  { name: "plain-rust", title: "by hand (Rust)", runtime: "rust", peer: "plain", settings: ["ceiling"], measures: ["enqueue"], why: { drain: "`tenure bench drain` measures it, and Tenure is not in this run", latency: "nothing handles" } },
  { name: "plain-node", title: "by hand (Node)", runtime: "node", peer: "plain", settings: ["ceiling"], measures: ["enqueue"], why: { drain: "not measured", latency: "nothing handles" } },
  { name: "tenure", title: "**Tenure**", runtime: "rust", peer: "tenure", settings: ["defaults"], measures: all },
  { name: "graphile-worker", title: "graphile-worker (Node)", runtime: "node", left: "graphile_worker._private_jobs", same: ["enqueue"] },
  { name: "graphile_worker", title: "graphile_worker (Rust)", runtime: "rust", left: "graphile_worker._private_jobs", same: ["enqueue"] },
  { name: "pg-boss", title: "pg-boss (Node)", runtime: "node", left: "pgboss.job WHERE state <> 'completed'" },
  { name: "riverqueue", title: "riverqueue (Rust)", runtime: "rust", left: "river_job WHERE state <> 'completed'", same: ["enqueue"] },
  { name: "sqlxmq", title: "sqlxmq (Rust)", runtime: "rust", left: "mq_msgs WHERE id <> uuid_nil()", same: ["enqueue", "latency"] },
  { name: "pg-transactional-outbox", title: "pg-transactional-outbox (Node)", runtime: "node", left: "outbox WHERE processed_at IS NULL", same: ["enqueue"] },
].map((contestant) => ({ peer: contestant.name, settings: ["best", "defaults"], measures: all, same: [], why: {}, ...contestant }));
