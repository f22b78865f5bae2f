// The results as tables of Markdown, one of jobs and one of events, with the reason for each dash below them.
import { jobs } from "./contestants.mjs";

export function table(results, measured, size) {
  const notes = [];
  const note = (text) => {
    if (!notes.includes(text)) notes.push(text);
    return `[${notes.indexOf(text) + 1}]`;
  };
  // Who takes part at any of these, if any of them was asked for.
  const of = (names) => results.filter(({ measures }) => [measured, measures].every((some) => some.some((name) => names.includes(name))));
  return [
    size.server,
    ...jobTable(of(jobs), size, note),
    ...appendTable(of(["append"]), size, note),
    "",
    ...notes.map((text, at) => `[${at + 1}] ${text}`),
  ].join("\n");
}

function jobTable(results, size, note) {
  const ceiling = results.find(({ drain }) => drain?.ceiling)?.drain.ceiling;
  const rows = results.map((result) => {
    const byHand = result.contestant === "plain-rust" && ceiling;
    const drain = byHand ? rate({ rate: ceiling }, note) : rate(result.drain, note, size);
    return [result.title, result.settings, drain, rate(result.enqueue, note), latency(result.latency, note)];
  });
  const about = `backlog ${size.jobs}; enqueue: business row + job at ${size.connections} connections, ${size.enqueueSeconds} s; latency at ${size.rate}/s, ${size.latencySeconds} s`;
  return lines(about, ["", "settings", "drain, jobs/s", "enqueue, tx/s", "latency p50 / p99, ms"], rows, 2);
}

function appendTable(results, size, note) {
  const rows = results.map(({ title, settings, outbox, append }) => {
    const what = outbox ? "event + outbox message" : `event only ${note("it has no outbox: events only, which is less work than the others do, and than the ceiling")}`;
    return [title, settings, what, rate(append, note)];
  });
  const about = `append: ${size.connections} writers, each to streams of its own, 10 events a stream, ${size.appendSeconds} s`;
  return lines(about, ["", "settings", "in one transaction", "append, tx/s"], rows, 3);
}

// A table whose first columns are words; nothing if it has no rows.
function lines(about, head, rows, words) {
  if (rows.length === 0) return [];
  return ["", about, "", line(head), line(head.map((_, at) => (at < words ? "---" : "---:"))), ...rows.map(line)];
}

const line = (cells) => `| ${cells.join(" | ")} |`;

function rate(measured, note, size) {
  if (!measured) return "";
  if (measured.same) return "same";
  if (measured.why) return `– ${note(measured.why)}`;
  const text = measured.rate >= 10 ? Math.round(measured.rate).toLocaleString("en") : measured.rate.toFixed(1);
  return measured.cut ? `${text} ${note(`cut short after ${size.limit} s: ${measured.handled} of ${size.jobs} jobs were handled`)}` : text;
}

function latency(measured, note) {
  if (!measured) return "";
  if (measured.same) return "same";
  if (measured.why) return `– ${note(measured.why)}`;
  return `${measured.p50_ms.toFixed(2)} / ${measured.p99_ms.toFixed(2)}`;
}
