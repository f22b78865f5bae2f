// pg-transactional-outbox, with its polling listener: the one by logical replication needs `wal_level=logical`, which is a
// setting of the whole server and would change the run for all others.
//
// Best: parallel messages without a segment (with one, its poll locks rows that its own handlers are about to lock, and those
// wait for seconds), fetched a thousand at a time whenever few are left (its poll sorts the whole backlog), handled on as many
// connections as keep the log busy (each message is a transaction of its own), and no clean-up beside it.
// Defaults: sequential messages of 64 segments, as it makes them.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import {
  DatabaseSetupExporter,
  getDisabledLogger,
  initializeMessageStorage,
  initializePollingMessageListener,
} from "pg-transactional-outbox";
import { connect } from "../database.mjs";

const logger = getDisabledLogger();
const settings = {
  dbSchema: "public",
  dbTable: "outbox",
  nextMessagesFunctionName: "next_outbox_messages",
  enableMaxAttemptsProtection: false,
  enablePoisonousMessageProtection: false,
};
const best = {
  drain: { nextMessagesLockInMs: 30_000, nextMessagesPollingIntervalInMs: 10, messageCleanupIntervalInMs: 0 },
  latency: { nextMessagesBatchSize: 20, nextMessagesPollingIntervalInMs: 1, messageCleanupIntervalInMs: 0 },
};
const strategies = {
  // It asks again at once when it is told 0, so the pause is here.
  drain: { batchSizeStrategy: async (inFlight) => (inFlight > 64 ? (await sleep(1), 0) : 1000 + inFlight) },
  latency: {},
};

function message(order, tuned) {
  return {
    id: randomUUID(),
    aggregateType: "order",
    aggregateId: String(order.order),
    messageType: "order_placed",
    segment: tuned ? null : `source-${order.order % 64}`,
    concurrency: tuned ? "parallel" : "sequential",
    payload: order,
    metadata: {},
  };
}

export default {
  async setup({ url }) {
    const client = await connect(url);
    const names = { database: client.database, schema: "public", table: "outbox", listenerRole: client.user };
    await client.query(
      DatabaseSetupExporter.createPollingScript(
        { outboxOrInbox: "outbox", ...names, nextMessagesName: settings.nextMessagesFunctionName },
        true,
      ),
    );
    await client.end();
  },

  // It has no way to store many at once: its row is inserted in bulk by hand.
  async fill({ url, jobs, settings: which }, order) {
    const client = await connect(url);
    for (let first = 0; first < jobs; first += 5000) {
      const many = Math.min(5000, jobs - first);
      const rows = Array.from({ length: many }, (_, i) => message(order(first + i), which === "best"));
      await client.query(
        `INSERT INTO outbox (id, aggregate_type, aggregate_id, message_type, segment, concurrency, payload, metadata)
         SELECT id, "aggregateType", "aggregateId", "messageType", segment, concurrency, payload, metadata
         FROM json_to_recordset($1::json) AS r(id uuid, "aggregateType" text, "aggregateId" text, "messageType" text,
           segment text, concurrency text, payload jsonb, metadata jsonb)`,
        [JSON.stringify(rows)],
      );
    }
    await client.end();
  },

  async start({ url, settings: which, step }, started) {
    const tuned = which === "best";
    const config = {
      outboxOrInbox: "outbox",
      dbListenerConfig: { connectionString: url },
      dbHandlerConfig: { connectionString: url, ...(tuned ? { max: 32 } : {}) },
      settings: { ...settings, ...(tuned ? best[step] : {}) },
    };
    const handler = { handle: async (stored) => started(stored.payload.order) };
    const [stop] = initializePollingMessageListener(config, handler, logger, tuned ? strategies[step] : {});
    return stop;
  },

  async enqueuer({ settings: which }) {
    const store = initializeMessageStorage({ settings, outboxOrInbox: "outbox" }, logger);
    return { enqueue: (client, order) => store(message(order, which === "best"), client), close() {} };
  },
};
