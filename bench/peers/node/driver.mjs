// Drives one Node contestant through one step of the comparison, and prints one line of JSON. The words it takes are those
// of the drivers in Rust: PEER STEP name=value…
import { setTimeout as sleep } from "node:timers/promises";
import { connect, connectPrepared } from "./database.mjs";

const PATIENCE_MS = 20_000;
// How long appending is warmed up, and how many events each stream gets.
const WARM_SECONDS = 1;
const EVENTS_EACH = 10;
const [peerName, step, ...words] = process.argv.slice(2);
const given = Object.fromEntries(words.map((word) => [word.slice(0, word.indexOf("=")), word.slice(word.indexOf("=") + 1)]));
const args = {
  step,
  // What the database is set up and filled for, where that differs.
  url: given.url,
  settings: given.settings ?? "best",
  jobs: Number(given.jobs ?? 2000),
  seconds: Number(given.seconds ?? 2),
  limit: Number(given.limit ?? 60),
  connections: Number(given.connections ?? 8),
  rate: Number(given.rate ?? 200),
  left: given.left,
};
const { default: peer } = await import(`./peers/${peerName}.mjs`);
const now = () => performance.now();

// About a hundred bytes, as a small order would be.
function order(n) {
  return { order: n, customer: "c-5678", total: 1999, lines: [{ sku: "A-1", n: 2 }], note: "leave at the door" };
}

// From the start of the worker until the database knows that each job is finished.
async function drain() {
  const watch = await connect(args.url);
  let handled = 0;
  const began = now();
  const stop = await peer.start(args, () => void handled++);
  const elapsed = () => (now() - began) / 1000;
  while (handled < args.jobs && elapsed() < args.limit) await sleep(2);
  const answer = { handled, seconds: elapsed(), finished: handled >= args.jobs };
  if (answer.finished) {
    const left = `SELECT EXISTS (SELECT FROM ${args.left}) AS left`;
    while ((await watch.query(left)).rows[0].left) {
      if (elapsed() > args.limit + PATIENCE_MS / 1000) throw new Error("every handler ran, but not every job was recorded as finished");
      await sleep(2);
    }
    answer.seconds = elapsed();
  }
  await stop();
  await watch.end();
  return answer;
}

async function send(client, enqueuer, n, business) {
  await client.query("BEGIN");
  if (business) await client.query("INSERT INTO orders (customer, total) VALUES ($1, $2)", ["c-5678", 1999]);
  await enqueuer.enqueue(client, order(n));
  await client.query("COMMIT");
}

// A business row and a job in one transaction, on many connections at once.
async function enqueue() {
  const enqueuer = await peer.enqueuer(args);
  const clients = await Promise.all(Array.from({ length: args.connections }, () => connectPrepared(args.url)));
  // The first one prepares the statements.
  for (const client of clients) await send(client, enqueuer, 0, true);
  const began = now();
  const loops = clients.map(async (client) => {
    let sent = 0;
    for (; now() - began < args.seconds * 1000; sent++) await send(client, enqueuer, sent, true);
    return sent;
  });
  const sent = (await Promise.all(loops)).reduce((a, b) => a + b, 0);
  const seconds = (now() - began) / 1000;
  await enqueuer.close();
  await Promise.all(clients.map((client) => client.end()));
  return { sent, warm: args.connections, seconds };
}

// From the producer hearing of its commit to the start of the handler, in one process and so on one clock.
async function latency() {
  const starts = new Map();
  const stop = await peer.start(args, (n) => void (starts.has(n) || starts.set(n, now())));
  const enqueuer = await peer.enqueuer(args);
  const client = await connectPrepared(args.url);
  // The first second warms caches and connections, and is not counted.
  const warm = args.rate;
  const count = warm + args.rate * args.seconds;
  const commits = [];
  const began = now();
  for (let n = 0; n < count; n++) {
    const wait = began + (n * 1000) / args.rate - now();
    if (wait > 0) await sleep(wait);
    await send(client, enqueuer, n, false);
    commits.push(now());
  }
  const sent = now();
  while (starts.size < count && now() - sent < PATIENCE_MS) await sleep(5);
  const spans = [];
  // A handler may start before the producer has heard that its commit is done.
  for (let n = warm; n < count; n++) if (starts.has(n)) spans.push(Math.max(0, starts.get(n) - commits[n]));
  spans.sort((a, b) => a - b);
  const rank = (share) => spans[Math.ceil(share * spans.length) - 1] ?? null;
  await stop();
  await enqueuer.close();
  await client.end();
  return { sent: count - warm, arrived: spans.length, p50_ms: rank(0.5), p99_ms: rank(0.99) };
}

// One event, and one message if there is an outbox, after the other by many writers at once, each to streams of its own.
async function append() {
  const { writers, close } = await peer.writers(args);
  const counts = writers.map(() => 0);
  const appendFor = async (seconds) => {
    const before = counts.reduce((a, b) => a + b, 0);
    const began = now();
    const loops = writers.map(async (append, at) => {
      for (; now() - began < seconds * 1000; counts[at]++) {
        const stream = `order-${at}-${Math.floor(counts[at] / EVENTS_EACH)}`;
        await append(stream, (counts[at] % EVENTS_EACH) + 1, order(counts[at]));
      }
    });
    await Promise.all(loops);
    return [counts.reduce((a, b) => a + b, 0) - before, (now() - began) / 1000];
  };
  const [warm] = await appendFor(WARM_SECONDS);
  const [appended, seconds] = await appendFor(args.seconds);
  await close();
  return { appended, warm, seconds };
}

const steps = {
  // `for` is the measurement that the database is made for.
  setup: async () => (await peer.setup({ ...args, step: given.for }), {}),
  fill: async () => (await peer.fill(args, order), { filled: args.jobs }),
  drain,
  enqueue,
  latency,
  append,
};
console.log(JSON.stringify(await steps[step]()));
// A contestant that keeps a timer must not keep the comparison waiting.
process.exit(0);
