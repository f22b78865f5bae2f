// Builds what is measured, and finds it.
import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "./processes.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const drivers = join(here, "..", "rust", "Cargo.toml");
const root = join(here, "..", "..", "..", "Cargo.toml");

export async function buildDrivers() {
  await cargo("build", "--release", "--manifest-path", drivers);
  const metadata = JSON.parse(await cargo("metadata", "--format-version", "1", "--manifest-path", drivers));
  const crate = (name) => dirname(metadata.packages.find((found) => found.name === name).manifest_path);
  return {
    program: join(metadata.target_directory, "release", "bench-peers"),
    sqlxmqMigrations: join(crate("sqlxmq"), "migrations"),
    postgresEsTables: join(crate("postgres-es"), "db", "init.sql"),
  };
}

export async function buildTenure() {
  if (process.env.TENURE) return process.env.TENURE;
  await cargo("build", "--release", "--manifest-path", root, "-p", "tenure-cli");
  const metadata = JSON.parse(await cargo("metadata", "--format-version", "1", "--no-deps", "--manifest-path", root));
  return join(metadata.target_directory, "release", "tenure");
}

// sqlxmq's users copy its migrations; here they are read from where cargo put the crate.
export async function applySqlxmqMigrations(client, directory) {
  const files = (await readdir(directory)).filter((file) => file.endsWith(".up.sql")).sort();
  for (const file of files) await client.query(await readFile(join(directory, file), "utf8"));
}

// So do those of postgres-es with its tables. Its file also makes a user and a row for its tests: these are left out.
export async function createPostgresEsTables(client, file) {
  const statements = (await readFile(file, "utf8")).split(";");
  for (const text of statements) if (/CREATE TABLE (events|snapshots)\b/.test(text)) await client.query(text);
}

function cargo(...args) {
  const jobs = args[0] === "build" && process.env.PEERS_BUILD_JOBS ? ["-j", process.env.PEERS_BUILD_JOBS] : [];
  return run("cargo", [...args, ...jobs], { timeoutMs: 3_600_000 });
}
