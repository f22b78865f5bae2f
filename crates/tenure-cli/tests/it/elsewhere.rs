//! `--lease`: who works is decided in another place, and the database refuses a deposed one all the same.
//!
//! The other place is another database here; `elsewhere_places` has etcd, Kafka and Kubernetes.

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::harness::{Receiver, Relay, Store, run, tenure, tests_on, wait_until};

tests_on!(sqlite:
    of_two_relays_by_another_place_one_works_and_the_other_takes_over,
    a_relay_whose_place_went_back_refuses_to_work,
    a_command_gets_the_term_of_the_database_that_is_protected,
    a_cluster_is_led_by_whom_another_place_elects,
    a_relay_waits_for_one_that_takes_the_lease_from_the_database_itself,
    bad_places_are_refused_with_2,
);
tests_on!(postgres:
    of_two_relays_by_another_place_one_works_and_the_other_takes_over,
    a_relay_whose_place_went_back_refuses_to_work,
    a_cluster_is_led_by_whom_another_place_elects,
);
tests_on!(mariadb:
    of_two_relays_by_another_place_one_works_and_the_other_takes_over,
    a_relay_whose_place_went_back_refuses_to_work,
    a_cluster_is_led_by_whom_another_place_elects,
);
tests_on!(mysql:
    of_two_relays_by_another_place_one_works_and_the_other_takes_over,
    a_relay_whose_place_went_back_refuses_to_work,
);

/// The other place.
fn place(store: &Store) -> String {
    format!("sqlite:{}", store.path("place.db"))
}

/// Makes the other place forget everything, as one that is deleted and made again.
fn forget(store: &Store) {
    for end in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(store.path(&format!("place.db{end}")));
    }
}

/// Lets the other place grant a lease so often that its number is far from the database's.
fn grant_before(store: &Store, lease: &str, times: usize) {
    for _ in 0..times {
        let mut command = tenure();
        command.args(["run", "--lease", &place(store), "--table-prefix", store.prefix()]);
        run(command.args(["--name", lease, "--quiet", "--", "true"])).ok();
    }
}

fn relay(store: &Store, name: &str, receiver: &Receiver, options: &[&str]) -> Relay {
    let place = place(store);
    let all = [&["--lease", place.as_str(), "--ttl", "2s"], options].concat();
    Relay::start(store, name, &receiver.url(), &all)
}

pub(crate) fn send(store: &Store, payload: &str) {
    store.tenure(&["send", "--topic", "t", "--source", "s", payload]).ok();
}

pub(crate) fn lease(store: &Store, name: &str) -> Value {
    store.leases().into_iter().find(|row| row["name"] == name).unwrap_or_default()
}

/// The terms under which messages came, each once: what a killed relay did not record comes again.
pub(crate) fn terms(receiver: &Receiver) -> Vec<String> {
    let mut terms: Vec<_> =
        receiver.requests().iter().map(|request| request.header("ce-tenureterm").to_owned()).collect();
    terms.dedup();
    terms
}

fn of_two_relays_by_another_place_one_works_and_the_other_takes_over(store: &Store) {
    grant_before(store, "outbox", 3);
    let receiver = Receiver::start();
    let mut first = relay(store, "n1", &receiver, &[]);
    send(store, "1");
    wait_until("the first works", || receiver.applied() == 1);
    let recorded = lease(store, "outbox");
    assert_eq!((&recorded["node"], &recorded["term"]), (&"n1".into(), &1.into()), "{recorded}");
    assert_eq!((&recorded["backend"], &recorded["origin_term"]), (&"sqlite".into(), &4.into()), "{recorded}");
    assert!(store.tenure(&["lease", "list"]).ok().stdout.contains("sqlite as 4"));
    assert!(store.fence_holds("outbox", 1));
    let mut second = relay(store, "n2", &receiver, &[]);
    send(store, "2");
    wait_until("the first works on", || receiver.applied() == 2);
    first.kill();
    send(store, "3");
    wait_until("the second took over", || receiver.applied() == 3);
    assert_eq!(receiver.effects("s"), ["1", "2", "3"]);
    assert_eq!(terms(&receiver), ["1", "2"], "the database's own terms");
    assert!(!store.fence_holds("outbox", 1) && store.fence_holds("outbox", 2));
    assert_eq!(lease(store, "outbox")["origin_term"], 5);
    // Gently, without waiting for any ttl.
    let mut third = relay(store, "n3", &receiver, &[]);
    assert_eq!(second.stop(), 0);
    send(store, "4");
    wait_until("the third took over", || receiver.applied() == 4);
    assert_eq!(third.stop(), 0);
    let history = store.history("outbox");
    assert_eq!(history.first().map(String::as_str), Some("1 acquired"), "{history:?}");
    assert_eq!(&history[history.len() - 2..], ["3 acquired", "3 released"], "{history:?}");
}

fn a_relay_whose_place_went_back_refuses_to_work(store: &Store) {
    grant_before(store, "outbox", 2);
    let receiver = Receiver::start();
    let mut first = relay(store, "n1", &receiver, &[]);
    send(store, "1");
    wait_until("it works", || receiver.applied() == 1);
    first.kill();
    forget(store);
    send(store, "2");
    let mut second = relay(store, "n2", &receiver, &[]);
    assert_eq!(second.exit(), 1);
    let said = second.log();
    for part in ["REFUSING TO LEAD", "number 1,", "number 3 (of n1)", "refuses to lead", "origin_term"] {
        assert!(said.contains(part), "{part} in {said}");
    }
    assert_eq!(receiver.applied(), 1, "it delivered nothing");
    assert_eq!(lease(store, "outbox")["term"], 1, "nothing was written");
    // As it was told to.
    let leases = store.table("leases");
    store.execute(&format!("update {leases} set origin_term = null where node = 'n1'"));
    let mut third = relay(store, "n3", &receiver, &[]);
    wait_until("it works again", || receiver.applied() == 2);
    assert_eq!(third.stop(), 0);
    assert_eq!(terms(&receiver), ["1", "2"], "the database's own term went up");
    assert_eq!(receiver.effects("s"), ["1", "2"]);
}

fn a_command_gets_the_term_of_the_database_that_is_protected(store: &Store) {
    let (place, term) = (place(store), store.path("term"));
    let script = format!("echo $TENURE_TERM > '{term}'");
    let with = |database: &[&str]| {
        let mut command = tenure();
        command.args(["run", "--lease", &place, "--name", "job", "--quiet"]);
        run(command.args(database).args(["--", "sh", "-c", &script])).ok();
        store.read("term").trim().to_owned()
    };
    assert_eq!((with(&[]), with(&[])), ("1".into(), "2".into()), "the place's own");
    assert_eq!(with(&["--db", store.url()]), "1", "the database's own");
    assert_eq!(with(&["--db", store.url()]), "2");
    assert_eq!(with(&["--db", &place]), "5", "the same place by both names");
    let recorded = lease(store, "job");
    assert_eq!((&recorded["term"], &recorded["origin_term"]), (&2.into(), &4.into()), "{recorded}");
    assert_eq!(store.history("job"), ["1 acquired", "1 released", "2 acquired", "2 released"]);
}

fn a_cluster_is_led_by_whom_another_place_elects(store: &Store) {
    grant_before(store, "tenure/leader", 2);
    let receiver = Receiver::start();
    let parts = ["--coordination", "partitioned:4"];
    let start = |name| relay(store, name, &receiver, &parts);
    let leader = || {
        let status = store.tenure(&["status", "--json"]).json();
        (status["leader"]["node"].as_str().unwrap_or_default().to_owned(), status["leader"]["term"].as_u64())
    };
    let mut first = start("n1");
    wait_until("the first leads", || leader() == ("n1".into(), Some(1)));
    assert_eq!(lease(store, "tenure/leader")["origin_term"], 3);
    assert_eq!(lease(store, "tenure/node/n1")["origin_term"], Value::Null, "nodes stay in the database");
    let mut second = start("n2");
    send(store, "1");
    wait_until("it is delivered", || receiver.applied() == 1);
    wait_until("the second is in", || !lease(store, "tenure/node/n2").is_null());
    store.tenure(&["lease", "resign", "--by", "ada"]).ok();
    wait_until("the second leads", || leader() == ("n2".into(), Some(2)));
    assert_eq!(store.history("tenure/leader")[..2], ["1 acquired", "1 resigned"]);
    second.signal(Signal::SIGKILL);
    wait_until("the first leads again", || leader() == ("n1".into(), Some(3)));
    for payload in ["2", "3"] {
        send(store, payload);
    }
    wait_until("all is delivered", || receiver.applied() == 3);
    assert_eq!(receiver.effects("s"), ["1", "2", "3"]);
    assert_eq!(first.stop(), 0);
    second.kill();
}

fn a_relay_waits_for_one_that_takes_the_lease_from_the_database_itself(store: &Store) {
    let receiver = Receiver::start();
    let mut native = Relay::start(store, "native", &receiver.url(), &["--ttl", "2s"]);
    send(store, "1");
    wait_until("it works", || receiver.applied() == 1);
    let mut other = relay(store, "other", &receiver, &[]);
    wait_until("it says what to do", || other.log().contains("give all of them the same --lease"));
    send(store, "2");
    wait_until("the first works on", || receiver.applied() == 2);
    assert_eq!(native.stop(), 0);
    send(store, "3");
    wait_until("the other takes over", || receiver.applied() == 3);
    assert_eq!(other.stop(), 0);
    assert_eq!(terms(&receiver), ["1", "2"]);
}

fn bad_places_are_refused_with_2(store: &Store) {
    let refused = |options: &[&str], part: &str| {
        let said = store.tenure(&[&["relay", "--to", "stdout:", "--until-empty"], options].concat());
        assert_eq!(said.code, 2, "{said:?}");
        assert!(said.stderr.contains(part), "{part} in {said:?}");
    };
    refused(&["--lease", "zookeeper://host"], "for leases alone etcd:");
    refused(&["--lease", "memory:"], "ends with this command");
    refused(&["--lease", &place(store), "--coordination", "single"], "takes no lease");
    // The database itself is no other place, however it is spelled.
    let spelled = store.url().replace("/leases.db", "/./leases.db");
    store.tenure(&["relay", "--to", "stdout:", "--until-empty", "--lease", &spelled]).ok();
    assert_eq!(lease(store, "outbox")["origin_term"], Value::Null);
}
