// The one process that is started at a time, and its end.
import { spawn } from "node:child_process";

let running;

// Runs a program and gives back what it printed; its own words on errors go to the terminal.
export function run(program, args, { timeoutMs = 1_800_000, env = {} } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, ...env } });
    running = child;
    let out = "";
    const timer = setTimeout(() => end(child), timeoutMs);
    child.stdout.on("data", (data) => (out += data));
    child.on("error", (error) => reject(new Error(`${program} cannot be started: ${error.message}`)));
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      running = undefined;
      const [what] = args;
      if (code === 0) resolve(out);
      else reject(new Error(`${program.split("/").pop()} ${what} ended with ${signal ?? code}`));
    });
  });
}

// Ends the process that is running, if there is one, by its own id.
export async function endRunning() {
  if (running) await end(running);
}

function end(child) {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    const hard = setTimeout(() => child.kill("SIGKILL"), 5000);
    child.once("close", () => (clearTimeout(hard), resolve()));
    child.kill("SIGTERM");
  });
}

export function lastJson(out) {
  return JSON.parse(out.trim().split("\n").pop());
}
