//! Sending and relaying, as a user of the binary meets them.

use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::harness::{Answer, Receiver, Relay, Store, run, tests_on, wait_until};

tests_on!(sqlite:
    b2_a_backlog_of_another_program_is_delivered_before_the_outbox_is_empty,
    until_empty_goes_on_behind_messages_that_die,
    an_exclusive_relay_follows_partitioned_ones_that_all_died,
    s19_relays_that_start_together_find_names_of_their_own,
    a_reader_that_goes_away_ends_the_relay_and_kills_nothing,
    who_deletes_messages_leaves_nothing_behind,
    until_empty_leaves_what_waits_for_its_time,
    sources_beyond_what_memory_holds_have_their_turn,
    b2_what_was_sent_arrives_as_a_cloudevent,
    a_plain_insert_is_enough,
    b13_order_is_kept_through_retries,
    s43_one_bad_row_is_parked_and_the_rest_flows,
    s46_the_same_id_sends_once_and_another_content_is_refused,
    a_delayed_message_waits,
    stdout_gets_one_line_per_message,
    a_relay_that_is_stopped_lets_deliveries_end,
    d3_of_two_relays_one_works_and_the_other_takes_over,
    status_tells_health_by_its_exit_code,
    bad_input_is_refused_with_2,
);
tests_on!(postgres:
    b2_a_backlog_of_another_program_is_delivered_before_the_outbox_is_empty,
    until_empty_goes_on_behind_messages_that_die,
    an_exclusive_relay_follows_partitioned_ones_that_all_died,
    s19_relays_that_start_together_find_names_of_their_own,
    b2_a_plain_insert_from_the_shell_of_the_database_is_enough,
    a_row_that_came_past_the_trigger_is_queued_and_never_deleted,
    who_deletes_messages_leaves_nothing_behind,
    until_empty_leaves_what_waits_for_its_time,
    b2_what_was_sent_arrives_as_a_cloudevent,
    a_plain_insert_is_enough,
    b13_order_is_kept_through_retries,
    s43_one_bad_row_is_parked_and_the_rest_flows,
    s46_the_same_id_sends_once_and_another_content_is_refused,
    a_delayed_message_waits,
    a_relay_that_is_stopped_lets_deliveries_end,
    d3_of_two_relays_one_works_and_the_other_takes_over,
    status_tells_health_by_its_exit_code,
);
tests_on!(pgbouncer:
    b2_what_was_sent_arrives_as_a_cloudevent,
    b13_order_is_kept_through_retries,
    d3_of_two_relays_one_works_and_the_other_takes_over,
);
tests_on!(mariadb:
    b2_a_backlog_of_another_program_is_delivered_before_the_outbox_is_empty,
    until_empty_goes_on_behind_messages_that_die,
    what_cannot_be_put_into_the_queue_for_long_is_told,
    an_exclusive_relay_follows_partitioned_ones_that_all_died,
    s19_relays_that_start_together_find_names_of_their_own,
    b2_a_plain_insert_from_the_shell_of_the_database_is_enough,
    who_deletes_messages_leaves_nothing_behind,
    until_empty_leaves_what_waits_for_its_time,
    b2_what_was_sent_arrives_as_a_cloudevent,
    a_plain_insert_is_enough,
    b13_order_is_kept_through_retries,
    s43_one_bad_row_is_parked_and_the_rest_flows,
    s46_the_same_id_sends_once_and_another_content_is_refused,
    a_delayed_message_waits,
    a_relay_that_is_stopped_lets_deliveries_end,
    d3_of_two_relays_one_works_and_the_other_takes_over,
    status_tells_health_by_its_exit_code,
);
tests_on!(mysql:
    b2_a_backlog_of_another_program_is_delivered_before_the_outbox_is_empty,
    until_empty_goes_on_behind_messages_that_die,
    what_cannot_be_put_into_the_queue_for_long_is_told,
    an_exclusive_relay_follows_partitioned_ones_that_all_died,
    s19_relays_that_start_together_find_names_of_their_own,
    b2_a_plain_insert_from_the_shell_of_the_database_is_enough,
    who_deletes_messages_leaves_nothing_behind,
    until_empty_leaves_what_waits_for_its_time,
    b2_what_was_sent_arrives_as_a_cloudevent,
    a_plain_insert_is_enough,
    b13_order_is_kept_through_retries,
    s43_one_bad_row_is_parked_and_the_rest_flows,
    s46_the_same_id_sends_once_and_another_content_is_refused,
    a_delayed_message_waits,
    a_relay_that_is_stopped_lets_deliveries_end,
    d3_of_two_relays_one_works_and_the_other_takes_over,
    status_tells_health_by_its_exit_code,
);

/// Options under which failures are tried again soon.
pub(crate) const BRISK: [&str; 6] = ["--retry-first", "20ms", "--retry-cap", "100ms", "--max-attempts", "3"];

pub(crate) fn refuse(status: &str) -> Answer {
    Answer::Say(format!("HTTP/1.1 {status}\r\ncontent-length: 8\r\n\r\nno: why?"))
}

pub(crate) fn stats(store: &Store) -> Value {
    store.tenure(&["outbox", "stats", "--json"]).ok().json()
}

pub(crate) fn list(store: &Store, options: &[&str]) -> Vec<Value> {
    let listed = store.tenure(&[&["outbox", "list", "--json"], options].concat()).ok().json();
    listed.as_array().expect("an array").clone()
}

pub(crate) fn send(store: &Store, options: &[&str]) -> String {
    let sent = store.tenure(&[&["send", "--json"], options].concat()).ok().json();
    sent["id"].as_str().expect("an id").to_owned()
}

fn b2_what_was_sent_arrives_as_a_cloudevent(store: &Store) {
    let receiver = Receiver::start();
    let id = send(
        store,
        &[
            "--topic",
            "orders",
            "--type",
            "OrderPlaced",
            "--source",
            "order-7",
            "--header",
            "tenant=acme",
            "{\"order\":7}",
        ],
    );
    let mut relay = Relay::start(store, "n1", &receiver.url(), &[]);
    wait_until("it has arrived", || receiver.applied() == 1);
    let request = receiver.requests().remove(0);
    for (name, value) in [
        ("ce-specversion", "1.0"),
        ("ce-id", id.as_str()),
        ("ce-type", "OrderPlaced"),
        ("ce-subject", "orders"),
        ("ce-tenuresource", "order-7"),
        ("ce-tenureterm", "1"),
        ("content-type", "application/json"),
    ] {
        assert_eq!(request.header(name), value, "{name}: {request:?}");
    }
    assert_eq!(request.text(), "{\"order\":7}");
    assert_eq!(relay.stop(), 0, "{}", relay.log());
    let shown = store.tenure(&["outbox", "show", &id, "--json"]).ok().json();
    assert_eq!(shown["state"], "dispatched");
    assert_eq!(shown["headers"]["tenant"], "acme");
    assert_eq!(shown["history"][0]["outcome"], "success");
    assert_eq!(shown["history"][0]["node"], "n1");
    assert_eq!(shown["history"][0]["term"], 1);
}

fn a_plain_insert_is_enough(store: &Store) {
    store.tenure(&["migrate"]).ok();
    let outbox = store.table("outbox");
    // In texts of MySQL it stands for what follows.
    let backslash = if store.is_mysql() { "\\\\" } else { "\\" };
    store.execute(&format!(
        "insert into {outbox} (topic, type, payload) values ('t', 'k', 'hello, {backslash} \"you\"')"
    ));
    store.execute(&format!(
        "insert into {outbox} (topic, type, payload, source, message_id, headers) \
         values ('t', 'k', '{{}}', 's', '470831a4-832f-5e77-b6eb-b9d970179689', '{{\"n\": 3}}')"
    ));
    let receiver = Receiver::start();
    let mut relay = Relay::start(store, "n1", &receiver.url(), &["--until-empty"]);
    assert_eq!(relay.exit(), 0, "{}", relay.log());
    assert_eq!(receiver.effects(""), ["hello, \\ \"you\""]);
    assert_eq!(receiver.effects("s"), ["{}"]);
    let with_id =
        receiver.requests().into_iter().find(|request| request.header("ce-tenuresource") == "s").unwrap();
    assert_eq!(with_id.header("ce-id"), "470831a4-832f-5e77-b6eb-b9d970179689");
}

/// More than a relay takes into its queue by one look, where another program does not put them there itself.
fn b2_a_backlog_of_another_program_is_delivered_before_the_outbox_is_empty(store: &Store) {
    const MANY: usize = 12_000;
    store.tenure(&["migrate"]).ok();
    let some = vec!["('s', 't', 'k', '{}')"; MANY / 4].join(", ");
    for _ in 0..4 {
        store.execute(&format!(
            "insert into {} (source, topic, type, payload) values {some}",
            store.table("outbox")
        ));
    }
    let said = store.tenure(&["relay", "--to", "stdout:", "--until-empty"]);
    assert_eq!((said.code, said.stdout.lines().count()), (0, MANY), "{}", said.stderr);
}

/// Each one that dies closes its source for a moment.
fn until_empty_goes_on_behind_messages_that_die(store: &Store) {
    const MANY: u64 = 200;
    store.tenure(&["migrate"]).ok();
    let all = vec!["('s', 't', 'k', '{}')"; MANY as usize].join(", ");
    store.execute(&format!(
        "insert into {} (source, topic, type, payload) values {all}",
        store.table("outbox")
    ));
    let receiver = Receiver::with(|_, _| refuse("404 Not Found"));
    let mut relay = Relay::start(store, "n1", &receiver.url(), &["--until-empty"]);
    assert_eq!(relay.exit(), 1, "{}", relay.log());
    let stats = store.tenure(&["outbox", "stats", "--json"]).ok().json();
    assert_eq!((&stats["pending"], &stats["dead"]), (&0.into(), &MANY.into()), "{stats}");
}

fn what_cannot_be_put_into_the_queue_for_long_is_told(store: &Store) {
    store.tenure(&["migrate"]).ok();
    let outbox = store.table("outbox");
    store.execute(&format!("insert into {outbox} (topic, type, payload) values ('t', 'k', '1')"));
    let receiver = Receiver::start();
    std::thread::scope(|scope| {
        // passes time: so long the row is held
        let hold = format!("select id, sleep(15) from {outbox} for update");
        let holds = scope.spawn(move || store.execute(&hold));
        // passes time: the statement has begun, and holds the row
        std::thread::sleep(Duration::from_secs(1));
        let mut relay = Relay::start(store, "n1", &receiver.url(), &[]);
        wait_until("it is told", || relay.log().contains("cannot all be put into the queue"));
        assert!(!holds.is_finished() && receiver.applied() == 0);
        wait_until("it is delivered", || receiver.applied() == 1);
        assert_eq!(relay.stop(), 0);
    });
}

/// Nobody is left who would take their parts from them.
fn an_exclusive_relay_follows_partitioned_ones_that_all_died(store: &Store) {
    let receiver = Receiver::start();
    let mut parts = Relay::start(store, "n1", &receiver.url(), &["--coordination", "partitioned:2"]);
    send(store, &["--topic", "t", "1"]);
    wait_until("a part delivers", || receiver.applied() == 1);
    parts.kill();
    send(store, &["--topic", "t", "2"]);
    let mut relay = Relay::start(store, "n2", &receiver.url(), &["--until-empty"]);
    assert_eq!(relay.exit(), 0, "{}", relay.log());
    assert!(
        relay.log().contains("waits until there are none"),
        "their node lives for a while: {}",
        relay.log()
    );
    assert_eq!(receiver.effects(""), ["1", "2"]);
}

/// Copies on one machine, or in containers of one name, that are started at the same moment look for a name at the same moment.
fn s19_relays_that_start_together_find_names_of_their_own(store: &Store) {
    store.tenure(&["migrate"]).ok();
    let receiver = Receiver::start();
    let options = ["--coordination", "partitioned:2", "--ttl", "3s"];
    let start = |n: u32| Relay::start_nameless(store, &format!("r{n}"), &receiver.url(), &options);
    let mut relays: Vec<_> = (0..3).map(start).collect();
    let nodes = || {
        let status = store.tenure(&["status", "--json"]).json();
        status["nodes"]
            .as_array()
            .map_or(0, |nodes| nodes.iter().filter(|node| node["state"] == "up").count())
    };
    wait_until("all are in the cluster", || nodes() == 3);
    for relay in &mut relays {
        assert_eq!(relay.stop(), 0, "{}", relay.log());
    }
}

/// As the documentation says it: in a transaction, by the database's own client.
fn b2_a_plain_insert_from_the_shell_of_the_database_is_enough(store: &Store) {
    store.tenure(&["migrate"]).ok();
    let statements = format!(
        "begin; create table {0}_orders (id integer primary key); insert into {0}_orders values (7); \
         insert into {1} (topic, type, payload, source) values ('orders', 'OrderPlaced', '{{\"order\":7}}', 'order-7'); commit; \
         begin; insert into {1} (topic, type, payload) values ('orders', 'Never', '{{}}'); rollback; drop table {0}_orders;",
        store.prefix(),
        store.table("outbox")
    );
    let mut shell = shell_of(store);
    shell.stdin(std::process::Stdio::piped());
    let mut child = shell.spawn().expect("the database's own client, which cargo xtask test installs");
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), statements.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    let receiver = Receiver::start();
    let mut relay = Relay::start(store, "n1", &receiver.url(), &["--until-empty"]);
    assert_eq!(relay.exit(), 0, "{}", relay.log());
    assert_eq!(receiver.effects("order-7"), ["{\"order\":7}"]);
    assert_eq!(receiver.requests().len(), 1);
}

/// The database's own client, which stops at the first error. That of MariaDB serves MySQL as well.
fn shell_of(store: &Store) -> std::process::Command {
    if !store.is_mysql() {
        let mut shell = std::process::Command::new("psql");
        shell.arg(store.url()).args(["-q", "-v", "ON_ERROR_STOP=1", "-f", "-"]);
        return shell;
    }
    let url = url::Url::parse(store.url()).unwrap();
    let mut shell = std::process::Command::new("mariadb");
    shell.args(["--no-defaults", "--protocol=TCP", "--skip-ssl", "--user", url.username()]);
    shell.arg(format!("--password={}", url.password().unwrap_or_default()));
    shell.args(["--host", url.host_str().unwrap(), "--port", &url.port().unwrap_or(3306).to_string()]);
    shell.arg(url.path().trim_start_matches('/'));
    shell
}

fn b13_order_is_kept_through_retries(store: &Store) {
    let payloads: Vec<String> = (0..12).map(|n| format!("{n}")).collect();
    for payload in &payloads {
        send(store, &["--topic", "t", "--source", "a", payload]);
        send(store, &["--topic", "t", "--source", "b", payload]);
    }
    // Every third of a fails at first, each in another way.
    let receiver = Receiver::with(|request, count| {
        let n: usize = request.text().parse().unwrap_or(0);
        match (request.header("ce-tenuresource"), n % 6, count) {
            ("a", 0, 1) => refuse("503 Busy"),
            ("a", 3, 1) => Answer::ApplyAndBreak,
            ("a", 5, 1) => refuse("429 Slow"),
            _ => Answer::Apply,
        }
    });
    let mut relay = Relay::start(store, "n1", &receiver.url(), &[&BRISK[..], &["--until-empty"]].concat());
    assert_eq!(relay.exit(), 0, "{}", relay.log());
    assert_eq!(receiver.effects("a"), payloads);
    assert_eq!(receiver.effects("b"), payloads);
    assert!(receiver.requests().len() > 24, "some came twice: {}", receiver.requests().len());
}

fn s43_one_bad_row_is_parked_and_the_rest_flows(store: &Store) {
    store.tenure(&["migrate"]).ok();
    let outbox = store.table("outbox");
    let long = "s".repeat(3_000);
    let bad = [
        ("headers", "topic, type, payload, headers", "'t', 'k', '1', '[1]'".to_owned()),
        ("501", "topic, type, payload, source", "'t', 'k', '1', '".to_owned() + &long[..501] + "'"),
        ("3000", "topic, type, payload, source", format!("'t', 'k', '1', '{long}'")),
        ("JSON", "topic, type, payload, content_type", "'t', 'k', '{', 'application/json'".to_owned()),
        ("topic is empty", "topic, type, payload", "'', 'k', '1'".to_owned()),
        ("limit", "topic, type, payload", format!("'t', 'k', '{}'", "x".repeat(2_000))),
    ];
    for (_, columns, values) in &bad {
        store.execute(&format!("insert into {outbox} ({columns}) values ({values})"));
    }
    let mut expected = bad.len();
    if store.is_sqlite() {
        store.execute(&format!(
            "insert into {outbox} (topic, type, payload, message_id) values ('t', 'k', '1', 'seven')"
        ));
        expected += 1;
    }
    send(store, &["--topic", "t", "--source", "good", "fine"]);
    let receiver = Receiver::start();
    let options = ["--payload-limit", "1000", "--until-empty"];
    let mut relay = Relay::start(store, "n1", &receiver.url(), &options);
    assert_eq!(relay.exit(), 1, "messages died: {}", relay.log());
    assert_eq!(receiver.effects("good"), ["fine"]);
    let dead = list(store, &["--state", "dead"]);
    assert_eq!(dead.len(), expected, "{dead:?}");
    for (word, ..) in &bad {
        assert!(
            dead.iter().any(|row| row["last_error"].as_str().unwrap().contains(word)),
            "{word}: {dead:?}"
        );
    }
}

fn s46_the_same_id_sends_once_and_another_content_is_refused(store: &Store) {
    let id = "470831a4-832f-5e77-b6eb-b9d970179689";
    let args = ["send", "--topic", "t", "--id", id, "--json", "one"];
    assert_eq!(store.tenure(&args).ok().json()["fresh"], true);
    assert_eq!(store.tenure(&args).ok().json()["fresh"], false);
    let other = store.tenure(&["send", "--topic", "t", "--id", id, "two"]);
    assert!(other.code == 1 && other.stderr.contains("payload"), "{other:?}");
    assert_eq!(list(store, &[]).len(), 1);
}

fn a_delayed_message_waits(store: &Store) {
    let receiver = Receiver::start();
    send(store, &["--topic", "t", "--in", "3s", "later"]);
    send(store, &["--topic", "t", "now"]);
    let mut relay = Relay::start(store, "n1", &receiver.url(), &[]);
    wait_until("the first has arrived", || receiver.applied() == 1);
    assert_eq!(receiver.effects(""), ["now"]);
    assert_eq!(stats(store)["delayed"], 1);
    wait_until("the other follows", || receiver.applied() == 2);
    assert_eq!(relay.stop(), 0);
}

fn stdout_gets_one_line_per_message(store: &Store) {
    for n in 0..5 {
        send(store, &["--topic", "t", "--source", "s", &format!("{{\"n\":{n}}}")]);
    }
    let said = run(store
        .command(&["relay", "--to", "stdout:", "--until-empty", "--quiet"])
        .env("TENURE_LOG", "error"))
    .ok();
    let lines: Vec<Value> = said.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let numbers: Vec<_> = lines.iter().map(|line| line["data"]["n"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4], "{said:?}");
}

fn a_relay_that_is_stopped_lets_deliveries_end(store: &Store) {
    send(store, &["--topic", "t", "--source", "s", "slow"]);
    send(store, &["--topic", "t", "--source", "s", "next"]);
    let receiver = Receiver::with(|_, _| {
        std::thread::sleep(Duration::from_millis(500)); // passes time: a slow receiver
        Answer::Apply
    });
    let mut relay = Relay::start(store, "n1", &receiver.url(), &[]);
    wait_until("a delivery is under way", || !receiver.requests().is_empty());
    assert_eq!(relay.stop(), 0, "{}", relay.log());
    let numbers = stats(store);
    assert_eq!(
        (numbers["dispatched"].as_u64(), numbers["pending"].as_u64()),
        (Some(1), Some(1)),
        "{}",
        relay.log()
    );
    assert_eq!(numbers["retrying"], 0, "a shutdown burns no attempt");
}

fn d3_of_two_relays_one_works_and_the_other_takes_over(store: &Store) {
    let receiver = Receiver::start();
    let mut first = Relay::start(store, "n1", &receiver.url(), &[]);
    send(store, &["--topic", "t", "--source", "s", "1"]);
    wait_until("the first works", || receiver.applied() == 1);
    let mut second = Relay::start(store, "n2", &receiver.url(), &[]);
    send(store, &["--topic", "t", "--source", "s", "2"]);
    wait_until("the first works on", || receiver.applied() == 2);
    first.signal(Signal::SIGKILL);
    send(store, &["--topic", "t", "--source", "s", "3"]);
    wait_until("the second took over", || receiver.applied() == 3);
    assert_eq!(receiver.effects("s"), ["1", "2", "3"]);
    let terms: Vec<_> =
        receiver.requests().iter().map(|request| request.header("ce-tenureterm").to_owned()).collect();
    assert_eq!(terms.last().map(String::as_str), Some("2"), "{terms:?}");
    assert_eq!(second.stop(), 0);
    first.kill();
}

fn status_tells_health_by_its_exit_code(store: &Store) {
    let id = send(store, &["--topic", "t", "1"]);
    let well = store.tenure(&["status", "--json"]).ok().json();
    assert_eq!((well["health"].as_str(), well["outbox"]["pending"].as_u64()), (Some("healthy"), Some(1)));
    wait_until("it has waited for a while", || stats(store)["lag_ms"].as_u64().is_some_and(|lag| lag > 20));
    let ill = store.tenure(&["status", "--json", "--lag-unhealthy", "10ms", "--lag-degraded", "1ms"]);
    assert_eq!((ill.code, ill.json()["health"].as_str()), (1, Some("unhealthy")));
    let receiver = Receiver::with(|_, _| refuse("404 Nowhere"));
    assert_eq!(Relay::start(store, "n1", &receiver.url(), &["--until-empty"]).exit(), 1);
    let degraded = store.tenure(&["status", "--json"]).ok().json();
    assert_eq!(degraded["health"], "degraded", "{degraded}");
    assert_eq!(store.tenure(&["status", "--dead-unhealthy", "1"]).code, 1);
    store.tenure(&["outbox", "discard", "--id", &id]).ok();
    assert_eq!(store.tenure(&["status", "--json"]).ok().json()["health"], "healthy");
}

fn bad_input_is_refused_with_2(store: &Store) {
    for args in [
        &["send", "--topic", "t"][..],
        &["send", "payload"],
        &["send", "--topic", "", "x"],
        &["send", "--topic", "t", "--id", "seven", "x"],
        &["send", "--topic", "t", "--header", "nothing", "x"],
        &["send", "--topic", "t", "--header", "a b=c", "x"],
        &["send", "--topic", "t", "--in", "soon", "x"],
        &["send", "--topic", "t", "--content-type", "application/json", "{"],
        &["send", "--topic", "t", "--payload-limit", "1", "xx"],
        &["relay"],
        &["relay", "--to", "ftp://h/"],
        &["relay", "--to", "nowhere"],
        &["relay", "--to", "stdout:", "--coordination", "shrug"],
        &["relay", "--to", "stdout:", "--coordination", "partitioned"],
        &["relay", "--to", "stdout:", "--coordination", "partitioned:0"],
        &["relay", "--to", "stdout:", "--coordination", "partitioned:100000"],
        &["relay", "--to", "stdout:", "--max-attempts", "0"],
        &["relay", "--to", "stdout:", "--retry-first", "2s", "--retry-cap", "1s"],
        &["relay", "--to", "stdout:", "--concurrency", "0"],
        &["relay", "--to", "stdout:", "--keep-inbox", "1h"],
        &["relay", "--to", "stdout:", "--payload-limit", "0"],
        &["send", "--topic", "t", "--payload-limit", "18446744073709551615", "x"],
        &["outbox"],
        &["outbox", "list", "--state", "lost"],
        &["outbox", "show"],
        &["outbox", "retry", "--all", "--state", "pending"],
        &["outbox", "list", "--from", "yesterday"],
        &["outbox", "list", "--from", "-2w"],
        &["outbox", "list", "--until", "2026-02-30T00:00:00Z"],
        &["outbox", "list", "--from", "-1h", "--until", "-2h"],
        &["outbox", "list", "--cause", "seven"],
        &["outbox", "list", "--cause", "00000000000000ff", "--state", "pending"],
        &["outbox", "retry", "--from", "2h"],
        &["outbox", "discard", "--from", "-1h", "--until", "-1h"],
    ] {
        let said = store.tenure(args);
        assert_eq!(said.code, 2, "{args:?}: {said:?}");
        assert!(!said.stderr.is_empty(), "{args:?}");
    }
    let said = store.tenure(&["outbox", "list", "--from", "yesterday"]).stderr;
    assert!(
        said.contains("2026-11-15T09:30:00Z") && said.contains("-2h"),
        "it says how to write one: {said}"
    );
}

fn a_reader_that_goes_away_ends_the_relay_and_kills_nothing(store: &Store) {
    for n in 0..200 {
        let source = format!("s{}", n % 5);
        store.tenure(&["send", "--topic", "t", "--source", &source, &"x".repeat(2_000)]).ok();
        if n >= 40 {
            break;
        }
    }
    let script = format!(
        "\"$0\" relay --db '{}' --to stdout: --max-attempts 2 --retry-first 20ms --retry-cap 20ms; echo \"code $?\" >&2",
        store.url()
    );
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &format!("( {script} ) | head -c 100"), crate::harness::TENURE]);
    let said = run(&mut shell);
    assert!(said.stderr.contains("code 1") && said.stderr.contains("whoever read it is gone"), "{said:?}");
    assert_eq!(stats(store)["dead"], 0, "{said:?}");
}

fn who_deletes_messages_leaves_nothing_behind(store: &Store) {
    for n in 0..3 {
        send(store, &["--topic", "old", &format!("{n}")]);
    }
    send(store, &["--topic", "new", "kept"]);
    let outbox = store.table("outbox");
    store.execute(&format!("delete from {outbox} where topic = 'old'"));
    assert_eq!(stats(store)["pending"], 1);
    let receiver = Receiver::start();
    assert_eq!(Relay::start(store, "n1", &receiver.url(), &["--until-empty"]).exit(), 0);
    assert_eq!(receiver.effects(""), ["kept"]);
    if !store.is_sqlite() {
        store.execute(&format!("truncate {outbox}"));
        let numbers = stats(store);
        assert_eq!((numbers["pending"].as_u64(), numbers["dispatched"].as_u64()), (Some(0), Some(0)));
    }
}

fn until_empty_leaves_what_waits_for_its_time(store: &Store) {
    send(store, &["--topic", "t", "--source", "s", "--in", "1h", "later"]);
    send(store, &["--topic", "t", "--source", "s", "behind it"]);
    send(store, &["--topic", "t", "--source", "other", "now"]);
    let receiver = Receiver::start();
    assert_eq!(Relay::start(store, "n1", &receiver.url(), &["--until-empty"]).exit(), 0);
    assert_eq!(receiver.effects("other"), ["now"]);
    assert_eq!(stats(store)["pending"], 2);
}

fn a_row_that_came_past_the_trigger_is_queued_and_never_deleted(store: &Store) {
    store.tenure(&["migrate"]).ok();
    let outbox = store.table("outbox");
    store.execute(&format!(
        "set session_replication_role = replica; \
         insert into {outbox} (topic, type, payload, created_at) values ('t', 'k', 'stray', now() - interval '1 day')"
    ));
    assert_eq!(list(store, &[])[0]["state"], "pending");
    let receiver = Receiver::start();
    let mut relay = Relay::start(store, "n1", &receiver.url(), &["--keep", "1h"]);
    wait_until("retention has queued it", || receiver.effects("") == ["stray"]);
    assert_eq!(relay.stop(), 0);
    assert_eq!(list(store, &[])[0]["state"], "dispatched");
}

/// More sources than are held at once (1,024), and of each so much that turns pass before the first ones have run dry.
fn sources_beyond_what_memory_holds_have_their_turn(store: &Store) {
    store.tenure(&["migrate"]).ok();
    let outbox = store.table("outbox");
    store.execute(&format!(
        "with recursive n(i) as (select 0 union all select i + 1 from n where i < 55999) \
         insert into {outbox} (topic, type, payload, source) select 't', 'k', i, printf('s%05d', i % 1400) from n"
    ));
    let said = run(store
        .command(&["relay", "--to", "stdout:", "--until-empty", "--quiet"])
        .env("TENURE_LOG", "error"));
    assert_eq!(said.code, 0, "{}", said.stderr);
    let lines: Vec<_> = said.stdout.lines().collect();
    assert_eq!(lines.len(), 56_000);
    let late = (1_300..1_400).filter(|n| {
        let name = format!("\"tenuresource\":\"s{n:05}\"");
        !lines[..40_000].iter().any(|line| line.contains(&name))
    });
    assert_eq!(late.count(), 0, "sources that had no turn before the others ran dry");
}
