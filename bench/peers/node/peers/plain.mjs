// The ceiling of enqueueing from Node: the job's row is inserted by hand, into a table that nothing watches.
import { connect } from "../database.mjs";

export default {
  async setup({ url }) {
    const client = await connect(url);
    await client.query(
      `CREATE TABLE plain_jobs (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
         message_id uuid NOT NULL DEFAULT gen_random_uuid() UNIQUE, source text, topic text NOT NULL, type text NOT NULL,
         payload text NOT NULL, created_at timestamptz NOT NULL DEFAULT clock_timestamp())`,
    );
    await client.end();
  },

  async enqueuer() {
    const insert = "INSERT INTO plain_jobs (source, topic, type, payload) VALUES ($1, 'orders', 'OrderPlaced', $2)";
    const enqueue = (client, order) => client.query(insert, [`source-${order.order % 64}`, JSON.stringify(order)]);
    return { enqueue, close() {} };
  },
};
