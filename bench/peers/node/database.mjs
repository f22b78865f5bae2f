// Connections, and a fresh database for each step.
import pg from "pg";

export async function connect(url) {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => {});
  await client.connect();
  return client;
}

// A client that keeps every statement prepared, whoever wrote its text: no contestant pays for parsing that another does not.
export async function connectPrepared(url) {
  const client = await connect(url);
  const names = new Map();
  return {
    query(text, values) {
      if (!values) return client.query(text);
      if (!names.has(text)) names.set(text, `s${names.size}`);
      return client.query({ name: names.get(text), text, values });
    },
    end: () => client.end(),
  };
}

export function withDatabase(url, name) {
  const other = new URL(url);
  other.pathname = `/${name}`;
  return other.toString();
}

// Refuses a server on which a comparison would mean nothing.
export async function checkDurable(admin) {
  for (const setting of ["fsync", "synchronous_commit", "full_page_writes"]) {
    const { rows } = await admin.query(`SELECT current_setting('${setting}') AS value`);
    if (rows[0].value !== "on") throw new Error(`${setting} is ${rows[0].value} on this server: equal durability means on`);
  }
}

export async function fresh(admin, url, name) {
  await drop(admin, name);
  await admin.query(`CREATE DATABASE ${name} TEMPLATE template0`);
  const inside = withDatabase(url, name);
  const client = await connect(inside);
  await client.query(
    `CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, customer text NOT NULL, total integer NOT NULL,
       placed_at timestamptz NOT NULL DEFAULT now())`,
  );
  await client.end();
  return inside;
}

export async function drop(admin, name) {
  await admin.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
}

// What filling left behind must not be paid for by the drain.
export async function settle(url) {
  const client = await connect(url);
  await client.query("VACUUM (ANALYZE)");
  await client.query("CHECKPOINT");
  await client.end();
}

export async function count(url, from) {
  const client = await connect(url);
  const { rows } = await client.query(`SELECT count(*)::int AS n FROM ${from}`);
  await client.end();
  return rows[0].n;
}
