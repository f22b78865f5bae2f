// The results as one table of Markdown, with the reason for each dash below it.

export function table(results, size) {
  const notes = [];
  const note = (text) => {
    if (!notes.includes(text)) notes.push(text);
    return `[${notes.indexOf(text) + 1}]`;
  };
  const ceiling = results.find(({ drain }) => drain?.ceiling)?.drain.ceiling;
  const rows = results.map((result) => {
    const byHand = result.contestant === "plain-rust" && ceiling;
    const drain = byHand ? rate({ rate: ceiling }, note) : rate(result.drain, note, size);
    return [result.title, result.settings, drain, rate(result.enqueue, note), latency(result.latency, note)];
  });
  const head = ["", "settings", "drain, jobs/s", `enqueue, tx/s`, "latency p50 / p99, ms"];
  return [
    `${size.server}; backlog ${size.jobs}; enqueue: business row + job at ${size.connections} connections, ${size.enqueueSeconds} s; latency at ${size.rate}/s, ${size.latencySeconds} s`,
    "",
    line(head),
    line(head.map((_, at) => (at < 2 ? "---" : "---:"))),
    ...rows.map(line),
    "",
    ...notes.map((text, at) => `[${at + 1}] ${text}`),
  ].join("\n");
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
