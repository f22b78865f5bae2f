// Runs the comparison: every contestant in turn, each measurement in a database of its own, never two at once.
import { parseArgs } from "node:util";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { applySqlxmqMigrations, buildDrivers, buildTenure, createPostgresEsTables } from "./build.mjs";
import { contestants, measurements } from "./contestants.mjs";
import { checkDurable, connect, count, drop, fresh, settle } from "./database.mjs";
import { endRunning, lastJson, run } from "./processes.mjs";
import { table } from "./table.mjs";

const USAGE = `usage: DATABASE_URL=postgres://postgres@127.0.0.1/postgres ./run [options]
  --only NAME        one contestant (can be repeated): ${contestants.map(({ name }) => name).join(", ")}
  --measure NAME     one measurement (can be repeated): ${measurements.join(", ")}
  --jobs N           how many jobs wait for the drain (200000)
  --rounds N         how often each drain is measured at best settings; the median counts (3)
  --limit SECONDS    when a drain is cut short, and its rate taken so far (120)
  --quick            2,000 jobs, one round, 2 seconds each: to see that it runs, not how fast
  --json             JSON lines on the output, the table beside them
The binary of Tenure is built, or named by TENURE.`;

const { values: options } = parseArgs({
  options: {
    only: { type: "string", multiple: true },
    measure: { type: "string", multiple: true },
    jobs: { type: "string" },
    rounds: { type: "string" },
    limit: { type: "string" },
    quick: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
if (options.help || !process.env.DATABASE_URL) {
  console.error(USAGE);
  process.exit(options.help ? 0 : 2);
}
const url = process.env.DATABASE_URL;
const size = {
  jobs: Number(options.jobs ?? (options.quick ? 2_000 : 200_000)),
  rounds: Number(options.rounds ?? (options.quick ? 1 : 3)),
  limit: Number(options.limit ?? (options.quick ? 10 : 120)),
  enqueueSeconds: options.quick ? 2 : 10,
  appendSeconds: options.quick ? 2 : 10,
  latencySeconds: options.quick ? 2 : 20,
  connections: 8,
  rate: 200,
};
const unknown = [
  ...(options.only ?? []).filter((name) => !contestants.some((contestant) => contestant.name === name)),
  ...(options.measure ?? []).filter((name) => !measurements.includes(name)),
];
if (unknown.length > 0) {
  console.error(`there is nothing called ${unknown.join(", ")}\n${USAGE}`);
  process.exit(2);
}
const chosen = contestants.filter(({ name }) => !options.only || options.only.includes(name));
const measured = (name) => !options.measure || options.measure.includes(name);

const driver = join(dirname(fileURLToPath(import.meta.url)), "driver.mjs");
const say = (text) => console.error(text);
const admin = await connect(url);
let current;
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, async () => {
    await endRunning();
    if (current) await drop(admin, current).catch(() => {});
    process.exit(1);
  });
}

await checkDurable(admin);
say("building …");
const rust = chosen.some(({ runtime }) => runtime === "rust") ? await buildDrivers() : {};
const tenure = chosen.some(({ peer }) => peer === "tenure") ? await buildTenure() : undefined;

const results = [];
for (const contestant of chosen) {
  for (const settings of contestant.settings) {
    const { title, measures, outbox } = contestant;
    const result = { contestant: contestant.name, title, measures, outbox, settings };
    for (const measurement of measures.filter(measured)) {
      if (settings === "defaults" && contestant.same.includes(measurement)) {
        result[measurement] = { same: true };
        continue;
      }
      say(`${contestant.name}, ${settings}: ${measurement} …`);
      try {
        result[measurement] = await measure(contestant, settings, measurement);
      } catch (error) {
        result[measurement] = { why: error.message };
        process.exitCode = 1;
      }
      say(`  ${JSON.stringify(result[measurement])}`);
      if (options.json) console.log(JSON.stringify({ contestant: contestant.name, settings, measurement, ...result[measurement] }));
    }
    for (const [measurement, why] of Object.entries(contestant.why)) result[measurement] ??= { why };
    results.push(result);
  }
}
const { rows: [server] } = await admin.query("SELECT version() AS version");
await admin.end();
const text = table(results, measurements.filter(measured), { ...size, server: server.version.split(" on ")[0] });
if (options.json) say(text);
else console.log(text);

async function measure(contestant, settings, measurement) {
  if (measurement !== "drain") return once(contestant, settings, measurement);
  // `tenure bench` has rounds of its own.
  const rounds = contestant.peer === "tenure" || settings === "defaults" ? 1 : size.rounds;
  const taken = [];
  for (let round = 0; round < rounds; round++) {
    taken.push(await once(contestant, settings, measurement));
    if (taken.at(-1).cut) break;
  }
  taken.sort((a, b) => a.rate - b.rate);
  return { ...taken[Math.floor(taken.length / 2)], rates: taken.map(({ rate }) => rate) };
}

// One measurement, in a database that exists for it alone.
async function once(contestant, settings, measurement) {
  const name = `peers_${process.pid}_${contestant.name}_${measurement}`.replaceAll("-", "_").toLowerCase();
  current = name;
  try {
    const inside = await fresh(admin, url, name);
    if (contestant.peer === "tenure" && measurement !== "enqueue") return await tenureBench(inside, measurement, contestant.more);
    return await drive(contestant, settings, measurement, inside);
  } finally {
    await drop(admin, name);
    current = undefined;
  }
}

async function drive(contestant, settings, measurement, inside) {
  const how = settings === "ceiling" ? "best" : settings;
  const step = async (name, ...more) => {
    const words = [contestant.peer, name, `url=${inside}`, `settings=${how}`, `for=${measurement}`, ...more];
    const [program, args] = contestant.runtime === "rust" ? [rust.program, words] : [process.execPath, [driver, ...words]];
    return lastJson(await run(program, args));
  };
  if (contestant.name === "sqlxmq" || contestant.name === "postgres-es") {
    const client = await connect(inside);
    if (contestant.name === "sqlxmq") await applySqlxmqMigrations(client, rust.sqlxmqMigrations);
    else await createPostgresEsTables(client, rust.postgresEsTables);
    await client.end();
  }
  await step("setup");
  if (measurement === "drain") {
    await step("fill", `jobs=${size.jobs}`);
    await expect(inside, contestant.left, size.jobs, "jobs were enqueued");
    await settle(inside);
    const answer = await step("drain", `jobs=${size.jobs}`, `limit=${size.limit}`, `left=${contestant.left}`);
    return drained(answer, await count(inside, contestant.left));
  }
  await settle(inside);
  if (measurement === "enqueue") {
    const answer = await step("enqueue", `seconds=${size.enqueueSeconds}`, `connections=${size.connections}`);
    await expect(inside, "orders", answer.sent + answer.warm, "business rows were committed");
    if (contestant.left) await expect(inside, contestant.left, answer.sent + answer.warm, "jobs were committed");
    return { rate: answer.sent / answer.seconds };
  }
  if (measurement === "append") {
    const answer = await step("append", `seconds=${size.appendSeconds}`, `connections=${size.connections}`);
    await expect(inside, contestant.events, answer.appended + answer.warm, "events were committed");
    if (contestant.messages) await expect(inside, contestant.messages, answer.appended + answer.warm, "messages were committed");
    return { rate: answer.appended / answer.seconds };
  }
  const answer = await step("latency", `seconds=${size.latencySeconds}`, `rate=${size.rate}`);
  if (answer.arrived < answer.sent) {
    return { why: `does not keep up with ${size.rate}/s: ${answer.arrived} of ${answer.sent} were handled` };
  }
  return { p50_ms: answer.p50_ms, p99_ms: answer.p99_ms };
}

function drained({ handled, seconds, finished }, left) {
  if (!finished) return { rate: handled / seconds, cut: true, handled, seconds };
  if (left > 0) throw new Error(`${left} of ${size.jobs} jobs were not finished`);
  return { rate: size.jobs / seconds, handled, seconds };
}

async function expect(inside, from, wanted, what) {
  const found = await count(inside, from);
  if (found !== wanted) throw new Error(`${found} ${what}, ${wanted} were to be`);
}

// Tenure's own measurements, at its default settings.
async function tenureBench(inside, measurement, more = []) {
  const sizes = {
    drain: ["--messages", String(size.jobs), "--rounds", String(size.rounds)],
    latency: ["--rate", String(size.rate), "--seconds", String(size.latencySeconds)],
    append: ["--writers", String(size.connections), "--seconds", String(size.appendSeconds), "--rounds", "1"],
  };
  const answer = lastJson(await run(tenure, ["bench", measurement, "--db", inside, "--json", ...sizes[measurement], ...more]));
  if (measurement === "latency") return { p50_ms: answer.p50_ms, p99_ms: answer.p99_ms };
  return { rate: answer.rate, ceiling: answer.ceiling, rates: answer.rates };
}
