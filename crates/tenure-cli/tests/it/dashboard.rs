//! `tenure dashboard` and `tenure relay --listen` as processes: who is let in, what probes and Prometheus are told.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::Signal;
use nix::unistd::Pid;
use serde_json::Value;

use crate::harness::{Link, Proxy, Store, code, run, signal, tenure, tests_on, wait_for, wait_until};

tests_on!(sqlite:
    a_dashboard_without_tokens_is_for_this_machine_and_for_looking,
    a_dashboard_with_tokens_lets_in_who_has_one,
    b9_a_relay_that_listens_tells_probes_and_prometheus_how_it_is,
    a7_what_a_relay_does_is_written_down_for_others_unless_it_is_not_to_be,
    a_dashboard_waits_for_a_database_that_is_away,
    what_cannot_be_served_is_refused_with_a_sentence,
    what_operators_did_is_listed,
    a_job_is_seen_from_another_dashboard_and_stopped_where_it_runs,
);
tests_on!(postgres:
    b9_a_relay_that_listens_tells_probes_and_prometheus_how_it_is,
    b9_a_database_that_goes_away_makes_it_unready_and_not_dead,
    a_job_is_seen_from_another_dashboard_and_stopped_where_it_runs,
);
tests_on!(mariadb: b9_a_relay_that_listens_tells_probes_and_prometheus_how_it_is);

/// A process that serves, ended with the test.
struct Served {
    child: Child,
    address: SocketAddr,
    first: Value,
    log: String,
}

impl Served {
    /// Starts `tenure ARGS --listen 127.0.0.1:0 --json`, and waits until it says where it listens.
    fn start(store: &Store, url: &str, args: &[&str], set: impl FnOnce(&mut Command)) -> Self {
        let (out, log) = (store.path("served.out"), store.path("served.log"));
        let mut command = tenure();
        command.args(args).args(["--db", url, "--table-prefix", store.prefix()]);
        command.args(["--listen", "127.0.0.1:0", "--json"]);
        set(&mut command);
        command.stdout(File::create(&out).unwrap()).stderr(File::create(&log).unwrap());
        let mut child = command.spawn().expect("a process");
        let first = wait_for("the address", || {
            assert_eq!(child.try_wait().unwrap(), None, "{}", std::fs::read_to_string(&log).unwrap());
            let said = std::fs::read_to_string(&out).unwrap_or_default();
            let line =
                said.split_inclusive('\n').find(|line| line.contains("listening") && line.ends_with('\n'))?;
            serde_json::from_str::<Value>(line).ok()
        });
        let place = first["url"].as_str().unwrap();
        let place = place.strip_prefix("http://").unwrap().strip_suffix("/_tenure").unwrap();
        let address = place.parse().expect("an address");
        Self { child, address, first, log }
    }

    fn get(&self, path: &str, headers: &[(&str, &str)]) -> (u16, String) {
        let host = self.address.to_string();
        let mut all = vec![("host", host.as_str())];
        all.retain(|(name, _)| !headers.iter().any(|(given, _)| given == name));
        all.extend(headers);
        ask(self.address, path, &all)
    }

    /// Waits until the database is open.
    fn opened(self) -> Self {
        wait_until("the database", || !self.get("/_tenure", &[]).1.contains("The dashboard waits for it"));
        self
    }

    fn stop(&mut self) -> i32 {
        signal(Pid::from_raw(i32::try_from(self.child.id()).unwrap()), Signal::SIGTERM);
        code(wait_for("its end", || self.child.try_wait().expect("a status")))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("{}", std::fs::read_to_string(&self.log).unwrap_or_default());
        }
    }
}

/// One request on a connection of its own: its status, and all that came.
fn ask(address: SocketAddr, path: &str, headers: &[(&str, &str)]) -> (u16, String) {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    stream
        .write_all(format!("GET {path} HTTP/1.1\r\n{headers}connection: close\r\n\r\n").as_bytes())
        .unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok());
    (status.unwrap_or_else(|| panic!("no answer: {answer:?}")), answer)
}

/// A change by JSON, likewise.
fn post(address: SocketAddr, path: &str, headers: &[(&str, &str)], json: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = json.len();
    let head = format!(
        "POST {path} HTTP/1.1\r\n{headers}content-type: application/json\r\ncontent-length: {length}"
    );
    stream.write_all(format!("{head}\r\nconnection: close\r\n\r\n{json}").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok());
    (status.unwrap_or_else(|| panic!("no answer: {answer:?}")), answer)
}

fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").map_or("", |(_, body)| body)
}

fn nothing(_: &mut Command) {}

fn a_dashboard_without_tokens_is_for_this_machine_and_for_looking(store: &Store) {
    store.tenure(&["migrate"]).ok();
    let mut served = Served::start(store, store.url(), &["dashboard"], nothing).opened();
    assert_eq!(served.first["read_only"], true, "{}", served.first);
    assert_eq!(served.get("/health/live", &[]).0, 200);
    assert_eq!(served.get("/_tenure", &[]).0, 200);
    let (status, text) = served.get("/metrics", &[]);
    assert_eq!(status, 200);
    assert!(text.contains("tenure_info{node="), "{text}");
    // A page of somebody else's that has its name stand for this machine.
    let (status, answer) = served.get("/_tenure", &[("host", "evil.test")]);
    assert_eq!(status, 421, "{answer}");
    assert_ne!(served.get("/metrics", &[("host", "evil.test")]).0, 200);
    // Whoever comes through a proxy is somewhere else.
    assert_eq!(served.get("/_tenure", &[("x-forwarded-for", "203.0.113.7")]).0, 403);
    assert_eq!(served.stop(), 0);
}

fn a_dashboard_with_tokens_lets_in_who_has_one(store: &Store) {
    store.tenure(&["migrate"]).ok();
    let made =
        run(tenure().args(["dashboard", "token", "--name", "ada", "--allow", "view", "--json"])).ok().json();
    let (token, line) = (made["token"].as_str().unwrap(), made["line"].as_str().unwrap());
    assert!(!line.contains(token), "the line tells nothing of the token");
    let file = store.path("tokens");
    std::fs::write(&file, format!("# operators\n{line}\n")).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let open =
        run(tenure().args(["dashboard", "--db", store.url(), "--tokens", &file, "--listen", "127.0.0.1:0"]));
    assert_eq!(open.code, 2, "a file that others may read is refused: {open:?}");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let mut served =
        Served::start(store, store.url(), &["dashboard", "--tokens", &file, "--metrics", "closed"], nothing)
            .opened();
    assert_eq!(served.first["read_only"], false);
    let bearer = format!("Bearer {token}");
    assert_eq!(served.get("/_tenure/api/v1/status", &[]).0, 401);
    assert_eq!(
        served.get("/_tenure/api/v1/status", &[("authorization", "Bearer tnr_wrongwrongwrongwrong")]).0,
        401
    );
    assert_eq!(served.get("/metrics", &[]).0, 401, "closed is closed also for this machine");
    assert_eq!(served.get("/metrics", &[("authorization", &bearer)]).0, 200);
    // Probes are told up or down, and those who may look are told why.
    let (_, stranger) = served.get("/health/ready", &[]);
    let (_, known) = served.get("/health/ready", &[("authorization", &bearer)]);
    assert!(!stranger.contains("checks"), "{stranger}");
    assert!(known.contains("checks"), "{known}");
    assert_eq!(served.stop(), 0);
    assert!(!std::fs::read_to_string(&served.log).unwrap().contains(token), "no token in a log");
}

fn b9_a_relay_that_listens_tells_probes_and_prometheus_how_it_is(store: &Store) {
    store.tenure(&["send", "--topic", "orders", "{}"]).ok();
    // Nobody listens there.
    let args = ["relay", "--to", "http://127.0.0.1:9/", "--max-attempts", "1", "--name", "one"];
    let mut served = Served::start(store, store.url(), &args, nothing).opened();
    // The one message dies, and whoever asks is told.
    let report = wait_for("a dead message in the report", || {
        let (status, answer) = served.get("/health/ready", &[]);
        let report: Value = serde_json::from_str(body(&answer)).ok()?;
        assert_eq!(status, 200, "one dead message is degraded, not down: {answer}");
        report["report"]["reasons"].to_string().contains("1 message is dead").then_some(report)
    });
    let names: Vec<&str> = report["report"]["checks"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|check| check["name"].as_str())
        .collect();
    for name in ["outbox-lag", "outbox-dead", "store", "loop relay outbox", "loop heart heart"] {
        assert!(names.contains(&name), "{name} is not among {names:?}");
    }
    let (status, live) = served.get("/health/live", &[]);
    assert_eq!(status, 200, "{live}");
    let metrics = wait_for("the numbers of the outbox", || {
        let (_, answer) = served.get("/metrics", &[]);
        answer.contains("tenure_outbox_dead 1").then_some(answer)
    });
    for line in [
        "tenure_outbox_attempts_total{outcome=\"transient\"} 1",
        "tenure_outbox_died_total{outcome=\"transient\"} 1",
        "tenure_lease_held{kind=\"outbox\"} 1",
        "tenure_info{node=\"one\"",
    ] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
    assert_eq!(served.stop(), 0);
}

fn b9_a_database_that_goes_away_makes_it_unready_and_not_dead(store: &Store) {
    store.tenure(&["migrate"]).ok();
    let proxy = Proxy::before(store.url());
    let mut served = Served::start(store, &proxy.url(store.url()), &["dashboard", "--no-report"], nothing);
    wait_until("the store to answer", || served.get("/health/ready", &[]).1.contains("the store answers"));
    proxy.set(Link::Refused);
    wait_until("ready to say no", || served.get("/health/ready", &[]).0 == 503);
    assert_eq!(served.get("/health/live", &[]).0, 200, "a new start would not mend the database");
    proxy.set(Link::Open);
    wait_until("ready to say yes again", || served.get("/health/ready", &[]).0 == 200);
    assert_eq!(served.stop(), 0);
}

fn a7_what_a_relay_does_is_written_down_for_others_unless_it_is_not_to_be(store: &Store) {
    let rows = || store.count("select count(*) from tenure_runners").unwrap_or(0);
    let sink = ["relay", "--to", "http://127.0.0.1:9/", "--name", "one"];
    let mut quiet = Served::start(store, store.url(), &[&sink[..], &["--no-report"]].concat(), nothing);
    wait_until("the relay at work", || {
        quiet.get("/metrics", &[]).1.contains("tenure_lease_held{kind=\"outbox\"} 1")
    });
    assert_eq!(rows(), 0);
    assert_eq!(quiet.stop(), 0);
    let mut told = Served::start(store, store.url(), &sink, nothing);
    wait_until("its rows", || rows() > 0);
    assert_eq!(told.stop(), 0);
    assert_eq!(rows(), 0, "one that ends takes its rows back");
}

fn a_dashboard_waits_for_a_database_that_is_away(store: &Store) {
    // The file is not there yet.
    let mut served = Served::start(store, store.url(), &["dashboard"], nothing);
    let (status, page) = served.get("/_tenure", &[]);
    assert_eq!(status, 503);
    assert!(page.contains("The dashboard waits for it") && !page.contains(store.url()), "{page}");
    let (status, told) = served.get("/_tenure/api/v1/status", &[]);
    assert!(status == 503 && told.contains("\"what\":\"away\""), "{status} {told}");
    let (status, metrics) = served.get("/metrics", &[]);
    assert!(status == 200 && metrics.contains("# TYPE tenure_"), "{status} {metrics}");
    assert_eq!(served.get("/health/live", &[]).0, 200);
    assert_eq!(served.get("/health/ready", &[]).0, 503);
    store.tenure(&["migrate"]).ok();
    wait_until("the dashboard", || served.get("/_tenure", &[]).0 == 200);
    wait_until("ready", || served.get("/health/ready", &[]).0 == 200);
    assert_eq!(served.stop(), 0);
}

fn what_cannot_be_served_is_refused_with_a_sentence(store: &Store) {
    store.tenure(&["migrate"]).ok();
    let db = store.url();
    let holder = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = holder.local_addr().unwrap().to_string();
    for (args, wanted, says) in [
        (vec!["dashboard", "--db", db, "--listen", "0.0.0.0:0"], 2, "can be reached from other machines"),
        (
            vec!["relay", "--db", db, "--to", "stdout:", "--listen", "0.0.0.0:0"],
            2,
            "can be reached from other machines",
        ),
        (vec!["dashboard", "--db", db, "--listen", "nonsense"], 2, "--listen nonsense"),
        (vec!["dashboard", "--db", db, "--dead-degraded", "0"], 2, "1 or more"),
        (vec!["dashboard", "token", "--name", "ada", "--allow", "view", "--for", "0s"], 2, "lets nobody in"),
        (vec!["dashboard", "token", "--name", "a;b", "--allow", "view"], 2, "semicolons"),
        (vec!["dashboard", "--db", db, "--listen", &taken], 1, "cannot listen on"),
        (vec!["dashboard", "--db", "nonsense://x"], 2, "unknown scheme"),
        (vec!["dashboard", "--db", db, "--host", "a b"], 2, "is no host"),
        (vec!["dashboard", "--db", db, "--tokens", "/no/such/file"], 2, "--tokens"),
        (vec!["dashboard", "--db", db, "--lag-degraded", "10m"], 2, "lag_unhealthy"),
        (vec!["dashboard"], 2, "no database"),
        (vec!["dashboard", "--db", "memory:"], 2, "memory:"),
        (vec!["dashboard", "token", "--name", "ada", "--allow", "everything"], 2, "--allow"),
        (vec!["dashboard", "token", "--name", "", "--allow", "view"], 2, "--name"),
        (vec!["demo", "--listen", "0.0.0.0:0"], 2, "this machine only"),
    ] {
        let said = run(tenure().args(&args));
        assert_eq!(said.code, wanted, "{args:?}: {said:?}");
        assert!(said.stderr.contains(says), "{args:?}: {said:?}");
    }
    let short = run(tenure().args(["dashboard", "--db", db]).env("TENURE_DASHBOARD_TOKEN", "hunter2"));
    assert_eq!(short.code, 2, "{short:?}");
    assert!(!short.stderr.contains("hunter2"), "{short:?}");
    drop(holder);
}

fn a_job_is_seen_from_another_dashboard_and_stopped_where_it_runs(store: &Store) {
    store.tenure(&["migrate"]).ok();
    let rows: Vec<String> = (0..50).map(|number| format!("('t', 'k', '{number}')")).collect();
    let outbox = store.table("outbox");
    store.execute(&format!("insert into {outbox} (topic, type, payload) values {}", rows.join(", ")));
    let sink = ["relay", "--to", "http://127.0.0.1:9/", "--max-attempts", "1", "--name", "r"];
    let mut relay = Served::start(store, store.url(), &sink, nothing);
    let stats = || store.tenure(&["outbox", "stats", "--json"]).ok().json();
    wait_until("all are dead", || stats()["dead"] == 50);
    assert_eq!(relay.stop(), 0);
    let token = "a token of the test's own, in clear";
    let start = || {
        Served::start(store, store.url(), &["dashboard"], |command| {
            command.env("TENURE_DASHBOARD_TOKEN", token);
        })
    };
    let (one, two) = (start(), start());
    let bearer = format!("Bearer {token}");
    let look = |served: &Served, path: &str| served.get(path, &[("authorization", &bearer)]);
    for served in [&one, &two] {
        wait_until("the database", || look(served, "/_tenure").0 == 200);
    }
    let tell = |served: &Served, path: &str, json: &str| {
        let host = served.address.to_string();
        post(served.address, path, &[("host", &host), ("authorization", &bearer)], json)
    };
    let (status, answer) =
        tell(&one, "/_tenure/api/v1/outbox/retry", r#"{"filter":{"topic":"t"},"limit":50,"rate":1}"#);
    assert_eq!(status, 202, "{answer}");
    let job: Value = serde_json::from_str(body(&answer)).unwrap();
    let id = job["id"].as_str().unwrap();
    let page = wait_for("the job, on the other's page", || {
        let (_, page) = look(&two, "/_tenure/jobs");
        (page.contains("On other nodes") && page.contains(id)).then_some(page)
    });
    let pid = format!("process {}", one.child.id());
    assert!(page.contains(&pid) && page.contains("A job is stopped where it runs"), "{page}");
    for path in ["/_tenure/outbox", "/_tenure/cluster", &format!("/_tenure/job?id={id}")] {
        let (status, page) = look(&two, path);
        assert!(status == 200 && page.contains(id), "{path}: {page}");
    }
    let stop = format!(r#"{{"id":"{id}"}}"#);
    let (status, answer) = tell(&two, "/_tenure/api/v1/jobs/stop", &stop);
    assert!(status == 409 && answer.contains(&pid), "{answer}");
    let (status, answer) = tell(&one, "/_tenure/api/v1/jobs/stop", &stop);
    assert_eq!(status, 200, "{answer}");
    wait_until("the job to be gone from the other's page", || {
        !look(&two, "/_tenure/jobs").1.contains("On other nodes")
    });
    assert!(stats()["dead"].as_u64().unwrap() > 0, "it was stopped before its end");
}

fn what_operators_did_is_listed(store: &Store) {
    store.tenure(&["migrate"]).ok();
    assert_eq!(store.tenure(&["audit", "list", "--json"]).ok().json(), serde_json::json!([]));
    store.tenure(&["lease", "release", "nobody-has-it", "--by", "ada"]);
    let mut holder = crate::harness::Run::calm(store).shell("sleep 60");
    wait_until("the lease", || store.tenure(&["lease", "list", "--json"]).ok().stdout.contains("job"));
    store.tenure(&["lease", "release", "job", "--by", "ada"]).ok();
    holder.exit();
    let lines = store.tenure(&["audit", "list", "--actor", "ada", "--json"]).ok().json();
    let found =
        lines.as_array().unwrap().iter().any(|line| line["subject"] == "job" && line["actor"] == "ada");
    assert!(found, "{lines}");
    assert_eq!(
        store.tenure(&["audit", "list", "--actor", "bob", "--json"]).ok().json(),
        serde_json::json!([])
    );
    assert!(store.tenure(&["audit", "list"]).ok().stdout.contains("ada"));
}

#[test]
fn a_demo_can_be_watched_while_it_runs() {
    let mut command = tenure();
    command.args([
        "demo",
        "--seconds",
        "4",
        "--kill-every",
        "0s",
        "--nodes",
        "1",
        "--listen",
        "127.0.0.1:0",
        "--json",
    ]);
    let mut demo = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("a demo");
    let mut reader = std::io::BufReader::new(demo.stdout.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut reader, &mut line).unwrap();
    let first: Value = serde_json::from_str(&line).expect("an object");
    assert_eq!((&first["event"], &first["read_only"]), (&"listening".into(), &true.into()), "{first}");
    let place = first["url"].as_str().unwrap().strip_prefix("http://").unwrap();
    let address: SocketAddr = place.strip_suffix("/_tenure").unwrap().parse().unwrap();
    let host = address.to_string();
    wait_until("its page", || ask(address, "/_tenure", &[("host", &host)]).0 == 200);
    let mut rest = String::new();
    reader.read_to_string(&mut rest).unwrap();
    assert_eq!(code(demo.wait().unwrap()), 0, "{rest}");
}
