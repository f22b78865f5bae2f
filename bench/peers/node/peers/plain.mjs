// The ceilings from Node, by hand and into tables that nothing watches: of enqueueing, the job's row; of appending, the event's
// row and the message's in one statement, as in Rust.
import { connect, connectPrepared } from "../database.mjs";

export default {
  async setup({ url, step }) {
    const client = await connect(url);
    await client.query(
      `CREATE TABLE plain_jobs (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
         message_id uuid NOT NULL DEFAULT gen_random_uuid() UNIQUE, source text, topic text NOT NULL, type text NOT NULL,
         payload text NOT NULL, created_at timestamptz NOT NULL DEFAULT clock_timestamp())`,
    );
    if (step === "append") {
      await client.query(
        `CREATE TABLE plain_events (position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, stream text NOT NULL,
           version bigint NOT NULL, event_id uuid NOT NULL DEFAULT gen_random_uuid(), type text NOT NULL, payload text NOT NULL,
           recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(), UNIQUE (stream, version))`,
      );
    }
    await client.end();
  },

  async enqueuer() {
    const insert = "INSERT INTO plain_jobs (source, topic, type, payload) VALUES ($1, 'orders', 'OrderPlaced', $2)";
    const enqueue = (client, order) => client.query(insert, [`source-${order.order % 64}`, JSON.stringify(order)]);
    return { enqueue, close() {} };
  },

  async writers({ url, connections }) {
    const clients = await Promise.all(Array.from({ length: connections }, () => connectPrepared(url)));
    const insert = `WITH happened AS (INSERT INTO plain_events (stream, version, type, payload) VALUES ($1, $2, 'OrderPlaced', $3))
      INSERT INTO plain_jobs (source, topic, type, payload) VALUES ($1, 'orders', 'ShipOrder', $3)`;
    const append = (client) => (stream, version, order) => client.query(insert, [stream, version, JSON.stringify(order)]);
    return { writers: clients.map(append), close: () => Promise.all(clients.map((client) => client.end())) };
  },
};
