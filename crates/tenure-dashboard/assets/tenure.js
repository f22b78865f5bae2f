// What a browser does by itself: live parts, a question before what cannot be undone, and keys. Every page works without it.
// It formats nothing: what it puts into a page was made, and escaped, by the server.
(function () {
  "use strict";
  var body = document.body;
  var sign = document.getElementById("live");
  var EVERY = 10000;

  function say(state, text) {
    if (!sign || sign.getAttribute("data-state") === state) { return; }
    sign.setAttribute("data-state", state);
    sign.textContent = text;
  }

  // Somebody who writes, or who has opened something, is not disturbed.
  function busy(part) {
    var at = document.activeElement;
    if (part.contains(at) && /^(INPUT|SELECT|TEXTAREA|BUTTON|A|SUMMARY)$/.test(at.tagName)) { return true; }
    return part.querySelector("details[open]") !== null;
  }

  function put(id, html) {
    var part = document.getElementById(id);
    if (part && part.innerHTML !== html && !busy(part)) { part.innerHTML = html; }
  }

  // Fetches this same page and takes its live part over: for what is asked for by id, and where no stream is to be had.
  function again() {
    return fetch(location.href, { credentials: "same-origin", headers: { accept: "text/html" } }).then(function (answer) {
      if (answer.redirected) { location.reload(); return; }
      if (!answer.ok && answer.status !== 503) { throw new Error(String(answer.status)); }
      return answer.text().then(function (text) {
        var page = new DOMParser().parseFromString(text, "text/html");
        var parts = page.querySelectorAll("[data-part]");
        for (var i = 0; i < parts.length; i += 1) { put(parts[i].id, parts[i].innerHTML); }
        if (answer.ok) { say("live", "live"); } else { say("reconnecting", "reconnecting"); }
        return page.querySelector("[data-refresh]");
      });
    });
  }

  function repeat(pause) {
    setTimeout(function () {
      if (document.hidden) { repeat(pause); return; }
      again().then(function (on) { if (on || pause === EVERY) { repeat(pause); } }, function () {
        say("reconnecting", "reconnecting");
        repeat(Math.max(pause, 3000));
      });
    }, pause);
  }

  // One stream for a tab that is looked at: a browser opens six connections to a host, over all its tabs, and a seventh
  // page would wait for ever.
  var refused = 0;
  var stream = null;
  function listen(url) {
    if (document.hidden || stream) { return; }
    stream = new EventSource(url);
    stream.addEventListener("open", function () { refused = 0; say("live", "live"); });
    stream.addEventListener("snapshot", function (event) {
      var parts = JSON.parse(event.data);
      Object.keys(parts).forEach(function (id) { put(id, parts[id]); });
      say("live", "live");
    });
    stream.addEventListener("error", function () {
      if (!stream || stream.readyState !== EventSource.CLOSED) { say("reconnecting", "reconnecting"); return; }
      // Refused, or the session has ended: ask for the page, which then says so.
      stream = null;
      refused += 1;
      if (refused > 2) { repeat(EVERY); return; }
      say("reconnecting", "reconnecting");
      setTimeout(function () { listen(url); }, 3000);
    });
  }

  function hush() {
    if (stream) { stream.close(); stream = null; say("still", "not live"); }
  }

  var live = body.getAttribute("data-live");
  var refresh = document.querySelector("[data-refresh]");
  if (refresh) { repeat(1000 * Math.max(1, Number(refresh.getAttribute("data-refresh")) || 2)); }
  if (live && window.EventSource) {
    listen(live);
    document.addEventListener("visibilitychange", function () {
      if (document.hidden) { hush(); } else if (refused <= 2) { listen(live); }
    });
    window.addEventListener("pagehide", hush);
  } else if (sign && !refresh) { sign.hidden = true; }

  document.addEventListener("submit", function (event) {
    var question = event.target.getAttribute("data-confirm");
    if (question && !window.confirm(question)) { event.preventDefault(); }
  });

  // Keys: / searches, j and k go through rows, Enter opens, ? tells them.
  var at = -1;
  function go(step) {
    var rows = document.querySelectorAll("main tbody tr");
    if (!rows.length) { return; }
    if (rows[at]) { rows[at].classList.remove("chosen"); }
    at = Math.min(rows.length - 1, Math.max(0, at + step));
    rows[at].classList.add("chosen");
    var link = rows[at].querySelector("a");
    if (link) { link.focus(); }
    rows[at].scrollIntoView({ block: "nearest" });
  }

  document.addEventListener("keydown", function (event) {
    if (event.ctrlKey || event.metaKey || event.altKey) { return; }
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) { return; }
    var keys = document.getElementById("keys");
    if (event.key === "/") {
      var field = document.querySelector("main [data-search]");
      if (field) { field.focus(); field.select(); event.preventDefault(); }
    } else if (event.key === "j") { go(1); } else if (event.key === "k") { go(-1); } else if (event.key === "?" && keys && keys.showModal && !keys.open) { keys.showModal(); }
  });
}());
