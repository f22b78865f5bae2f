// pg-boss.
//
// Best drain: big batches, several workers, no pause while batches come back full, a partition of the queue's own, and no
// maintenance beside it. Best latency: LISTEN and NOTIFY, which are off at its defaults. Best enqueue: `insert`, its raw
// path, without a notification; the defaults use `send`. Both take the user's transaction as `db`.
import { PgBoss } from "pg-boss";

const QUEUE = "order";
const quiet = { supervise: false, schedule: false };

const best = {
  drain: { boss: { ...quiet, max: 10 }, work: { batchSize: 2000, localConcurrency: 4, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 } },
  latency: { boss: { ...quiet, useListenNotify: true }, work: { batchSize: 10, localConcurrency: 2, pollingIntervalSeconds: 0.5 } },
};

async function open(url, options) {
  const boss = new PgBoss({ connectionString: url, ...options });
  boss.on("error", (error) => console.error(error.message));
  await boss.start();
  return boss;
}

export default {
  async setup({ url, settings, step }) {
    const boss = await open(url, quiet);
    const tuned = settings === "best";
    await boss.createQueue(QUEUE, { partition: tuned, notify: tuned && step === "latency" });
    await boss.stop({ graceful: false });
  },

  async fill({ url, jobs }, order) {
    const boss = await open(url, quiet);
    for (let first = 0; first < jobs; first += 5000) {
      const many = Math.min(5000, jobs - first);
      await boss.insert(QUEUE, Array.from({ length: many }, (_, i) => ({ data: order(first + i) })));
    }
    await boss.stop({ graceful: false });
  },

  async start({ url, settings, step }, started) {
    const { boss: options, work } = settings === "best" ? best[step] : { boss: {}, work: {} };
    const boss = await open(url, options);
    await boss.work(QUEUE, work, async (jobs) => {
      for (const job of jobs) started(job.data.order);
    });
    return () => boss.stop({ timeout: 5000 });
  },

  async enqueuer({ url, settings, step }) {
    const boss = await open(url, quiet);
    const raw = settings === "best" && step === "enqueue";
    const enqueue = (client, order) => {
      const db = { executeSql: (text, values) => client.query(text, values) };
      return raw ? boss.insert(QUEUE, [{ data: order }], { db }) : boss.send(QUEUE, order, { db });
    };
    return { enqueue, close: () => boss.stop({ graceful: false }) };
  },
};
