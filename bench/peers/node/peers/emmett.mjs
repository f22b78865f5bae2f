// Emmett, with its event store in Postgres. It has no outbox: one event for each append, and nothing else. (Its consumers read
// the events themselves; a user's own table could be written by an inline projection, in the same transaction.)
//
// Each append names the version that it expects, 0 for a new stream, which spares it a look at the stream.
// Best: a session, and so a connection, for each writer, instead of one out of the pool for each append. The defaults are one
// store with the pool that it makes.
import { getPostgreSQLEventStore } from "@event-driven-io/emmett-postgresql";

export default {
  async setup({ url }) {
    const store = getPostgreSQLEventStore(url);
    await store.schema.migrate();
    await store.close();
  },

  async writers({ url, settings, connections }) {
    const store = getPostgreSQLEventStore(url);
    let closeSessions = () => {};
    const closed = new Promise((resolve) => (closeSessions = resolve));
    const sessions = [];
    // A session lasts as long as its callback.
    const session = () =>
      new Promise((opened, failed) => {
        const lasts = store.withSession(({ eventStore }) => (opened(eventStore), closed));
        lasts.catch(failed);
        sessions.push(lasts);
      });
    const stores = await Promise.all(Array.from({ length: connections }, () => (settings === "best" ? session() : store)));
    const append = (own) => (stream, version, order) =>
      own.appendToStream(stream, [{ type: "OrderPlaced", data: order }], { expectedStreamVersion: BigInt(version - 1) });
    const close = async () => {
      closeSessions();
      await Promise.all(sessions);
      await store.close();
    };
    return { writers: stores.map(append), close };
  },
};
