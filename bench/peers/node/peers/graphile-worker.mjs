// graphile-worker.
//
// Best drain: what its "performance" page measures: many jobs at once, a local queue, completions in batches.
// Best latency: no local queue and no batches, which trade it away; a few handlers at once.
// Enqueueing is the SQL function that its documentation names for users' transactions.
import { Logger, makeWorkerUtils, run, runMigrations } from "graphile-worker";

const logger = new Logger(() => () => {});
const ADD_JOB = "SELECT id FROM graphile_worker.add_job('order', $1::json)";

const best = {
  drain: {
    concurrentJobs: 24,
    maxPoolSize: 10,
    localQueue: { size: 1000 },
    completeJobBatchDelay: 5,
    failJobBatchDelay: 5,
  },
  latency: { concurrentJobs: 4, maxPoolSize: 10 },
};

export default {
  async setup({ url }) {
    await runMigrations({ connectionString: url, logger });
  },

  async fill({ url, jobs }, order) {
    const utils = await makeWorkerUtils({ connectionString: url, logger });
    for (let first = 0; first < jobs; first += 5000) {
      const many = Math.min(5000, jobs - first);
      await utils.addJobs(Array.from({ length: many }, (_, i) => ({ identifier: "order", payload: order(first + i) })));
    }
    await utils.release();
  },

  async start({ url, settings, step }, started) {
    const worker = { connectionString: url, logger, ...(settings === "best" ? best[step] : {}) };
    const taskList = { order: (payload) => started(payload.order) };
    const runner = await run({ preset: { worker }, taskList, noHandleSignals: true });
    return () => runner.stop();
  },

  async enqueuer() {
    return { enqueue: (client, order) => client.query(ADD_JOB, [JSON.stringify(order)]), close() {} };
  },
};
