//! `--lease` with a coordinator that a team has already: etcd, Kafka, Kubernetes. The database that is protected is SQLite.
//!
//! The relays and commands are real processes, and so are etcd and Kafka; the API of Kubernetes is the server of
//! `tenure-kubernetes`' own tests. What `--lease` means is tested in `elsewhere` with databases.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::elsewhere::{lease, send, terms};
use crate::harness::{Place, Receiver, Relay, Run, Store, tests_at, wait_until};

tests_at!(
    "etcd" etcd:
        a_relay_that_is_stopped_hands_over_at_once_and_nothing_is_lost,
        a_relay_that_is_killed_is_replaced_and_nothing_is_lost,
        a_command_gets_the_term_of_the_database_and_the_next_one_waits,
        a_place_that_forgot_everything_does_not_take_the_terms_back,
        a_place_that_forgets_while_a_relay_works_does_not_take_the_terms_back,
        a_server_that_is_not_there_is_named_and_waited_for_only_on_request,
        its_failover_is_measured_together_with_the_database;
    "kafka" kafka:
        a_relay_that_is_stopped_hands_over_at_once_and_nothing_is_lost,
        a_relay_that_is_killed_is_replaced_and_nothing_is_lost,
        a_command_gets_the_term_of_the_database_and_the_next_one_waits,
        a_place_that_forgot_everything_does_not_take_the_terms_back,
        a_place_that_forgets_while_a_relay_works_does_not_take_the_terms_back,
        a_server_that_is_not_there_is_named_and_waited_for_only_on_request,
        its_failover_is_measured_together_with_the_database;
    "kubernetes" kubernetes:
        a_relay_that_is_stopped_hands_over_at_once_and_nothing_is_lost,
        a_relay_that_is_killed_is_replaced_and_nothing_is_lost,
        a_command_gets_the_term_of_the_database_and_the_next_one_waits,
        a_place_that_forgot_everything_does_not_take_the_terms_back,
        a_place_that_forgets_while_a_relay_works_does_not_take_the_terms_back,
        a_server_that_is_not_there_is_named_and_waited_for_only_on_request,
        its_failover_is_measured_together_with_the_database;
);

/// Seconds after which a death is noticed.
const BRISK: u32 = 2;
/// Seconds that nobody waits for who is told.
const CALM: u32 = 12;

fn relay(store: &Store, place: &Place, name: &str, receiver: &Receiver, ttl: u32) -> Relay {
    let (url, ttl) = (place.url(ttl), format!("{ttl}s"));
    Relay::start(store, name, &receiver.url(), &["--lease", &url, "--ttl", &ttl])
}

/// Starts a second relay, and waits until it stands by.
fn standby(store: &Store, place: &Place, name: &str, receiver: &Receiver, ttl: u32) -> Relay {
    let relay = relay(store, place, name, receiver, ttl);
    wait_until("the other stands by", || relay.log().contains("stands by"));
    relay
}

/// Goes on sending while something happens, and for a while after it; tells how many were sent.
fn while_sending(store: &Store, happens: impl FnOnce()) -> usize {
    let over = AtomicBool::new(false);
    let sender = || {
        let mut sent = 0;
        while !over.load(Ordering::SeqCst) {
            sent += 1;
            send(store, &sent.to_string());
        }
        sent
    };
    /// Also when what happens is a panic: the scope waits for its threads.
    struct Over<'a>(&'a AtomicBool);
    impl Drop for Over<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    thread::scope(|scope| {
        let sending = scope.spawn(sender);
        let end = Over(&over);
        happens();
        drop(end);
        sending.join().unwrap()
    })
}

/// All that was sent took effect, once and in its order.
fn assert_all_took_effect(receiver: &Receiver, sent: usize) {
    wait_until("all is delivered", || receiver.applied() == sent);
    let numbers: Vec<_> = (1..=sent).map(|number| number.to_string()).collect();
    assert_eq!(receiver.effects("s"), numbers);
}

/// In the database the relay's lease has this term and node, and only its fence holds.
fn assert_in_office(store: &Store, place: &Place, node: &str, term: u64) {
    let recorded = lease(store, "outbox");
    assert_eq!((&recorded["node"], &recorded["term"]), (&node.into(), &term.into()), "{recorded}");
    assert_eq!(recorded["backend"], place.name(), "{recorded}");
    assert!(recorded["origin_term"].is_u64() && recorded["origin_epoch"].is_string(), "{recorded}");
    assert!(store.fence_holds("outbox", term));
    assert!(term == 1 || !store.fence_holds("outbox", term - 1));
}

fn a_relay_that_is_stopped_hands_over_at_once_and_nothing_is_lost(store: &Store, place: &Place) {
    let receiver = Receiver::start();
    let mut first = relay(store, place, "n1", &receiver, CALM);
    let mut second = None;
    let sent = while_sending(store, || {
        wait_until("the first works", || receiver.applied() >= 3);
        assert_in_office(store, place, "n1", 1);
        second = Some(standby(store, place, "n2", &receiver, CALM));
        let asked = Instant::now();
        assert_eq!(first.stop(), 0);
        wait_until("the second works", || terms(&receiver).len() == 2);
        assert!(asked.elapsed() < Duration::from_secs(CALM.into()) / 2, "after {:?}", asked.elapsed());
        assert_in_office(store, place, "n2", 2);
    });
    assert_all_took_effect(&receiver, sent);
    assert_eq!(second.map(|mut second| second.stop()), Some(0));
    assert_eq!(terms(&receiver), ["1", "2"]);
    assert_eq!(store.history("outbox"), ["1 acquired", "1 released", "2 acquired", "2 released"]);
}

fn a_relay_that_is_killed_is_replaced_and_nothing_is_lost(store: &Store, place: &Place) {
    let receiver = Receiver::start();
    let mut first = relay(store, place, "n1", &receiver, BRISK);
    let mut second = None;
    let sent = while_sending(store, || {
        wait_until("the first works", || receiver.applied() >= 3);
        second = Some(standby(store, place, "n2", &receiver, BRISK));
        first.kill();
        // With so short a ttl, on a busy machine, the first may have taken office more than once.
        wait_until("the second works", || {
            let row = lease(store, "outbox");
            row["node"] == "n2" && terms(&receiver).last() == Some(&row["term"].to_string())
        });
        let term = lease(store, "outbox")["term"].as_u64().unwrap();
        assert_in_office(store, place, "n2", term);
    });
    assert_all_took_effect(&receiver, sent);
    assert_eq!(second.map(|mut second| second.stop()), Some(0));
    let terms: Vec<u64> = terms(&receiver).iter().map(|term| term.parse().unwrap()).collect();
    assert!(terms.len() >= 2 && terms.is_sorted(), "{terms:?}");
}

fn a_command_gets_the_term_of_the_database_and_the_next_one_waits(store: &Store, place: &Place) {
    let url = place.url(CALM);
    let run = || Run::plain(store).by(&url).with(&["--db", store.url(), "--ttl", "12s"]).lease("x");
    let print = |path: &str| format!("echo $TENURE_TERM > '{path}'");
    let script = format!("{}; read _", print(&store.path("first")));
    let (mut first, term) = run().stdin(std::process::Stdio::piped()).holding(&["sh", "-c", &script]);
    assert_eq!(term, 1);
    // Whoever gives up waiting keeps nobody else waiting, by the session of a dead member of a group, say.
    let impatient = run().with(&["--wait", "0s"]).shell("true").exit();
    assert_eq!(impatient, 1, "it is held");
    let mut called_off = run().waiting(&["true"]);
    called_off.signal(Signal::SIGTERM);
    assert_eq!(called_off.exit(), 143);
    let mut second = run().waiting(&["sh", "-c", &print(&store.path("second"))]);
    assert!(store.fence_holds("x", 1) && second.events("acquired").is_empty());
    drop(first.take_stdin());
    let ended = Instant::now();
    assert_eq!((first.exit(), second.exit()), (1, 0), "`read` ends with 1 when there is nothing to read");
    assert!(ended.elapsed() < Duration::from_secs(CALM.into()) / 2, "after {:?}", ended.elapsed());
    assert_eq!((store.read("first").trim(), store.read("second").trim()), ("1", "2"));
    assert_eq!(store.history("x"), ["1 acquired", "1 released", "2 acquired", "2 released"]);
}

fn a_place_that_forgot_everything_does_not_take_the_terms_back(store: &Store, place: &Place) {
    let receiver = Receiver::start();
    let mut first = relay(store, place, "n1", &receiver, BRISK);
    send(store, "1");
    wait_until("the first works", || receiver.applied() == 1);
    let before = lease(store, "outbox");
    first.kill();
    place.forget("outbox");
    send(store, "2");
    let mut second = relay(store, place, "n2", &receiver, BRISK);
    wait_until("the second works", || receiver.applied() == 2);
    assert_in_office(store, place, "n2", 2);
    assert_ne!(lease(store, "outbox")["origin_epoch"], before["origin_epoch"]);
    assert_eq!(second.stop(), 0);
    assert_eq!(terms(&receiver), ["1", "2"]);
    let log = second.log();
    assert_eq!(log.matches("counts anew").count(), 1, "{log}");
}

fn a_place_that_forgets_while_a_relay_works_does_not_take_the_terms_back(store: &Store, place: &Place) {
    let receiver = Receiver::start();
    let mut first = relay(store, place, "n1", &receiver, BRISK);
    let mut second = None;
    let sent = while_sending(store, || {
        wait_until("the first works", || receiver.applied() >= 3);
        second = Some(standby(store, place, "n2", &receiver, BRISK));
        place.forget("outbox");
        wait_until("one of them works anew", || terms(&receiver).len() >= 2);
    });
    assert_all_took_effect(&receiver, sent);
    let history = store.history("outbox");
    let terms: Vec<u64> =
        history.iter().map(|line| line.split(' ').next().unwrap().parse().unwrap()).collect();
    assert!(terms.is_sorted() && terms.first() == Some(&1) && terms.last() > Some(&1), "{history:?}");
    assert_eq!((first.stop(), second.map(|mut second| second.stop())), (0, Some(0)));
}

fn a_server_that_is_not_there_is_named_and_waited_for_only_on_request(store: &Store, place: &Place) {
    let nobody = place.url_of_nobody();
    let said = store.tenure(&["run", "--lease", nobody, "--name", "x", "--", "true"]);
    assert_eq!(said.code, 1, "{said:?}");
    let names = |said: &str| said.contains("127.0.0.1:1") && !said.contains("c4nary");
    assert!(names(&said.stderr) && said.stderr.contains(place.name()), "{said:?}");
    assert_eq!(said.stderr.lines().count(), 1, "one line says it all: {said:?}");
    // A relay may have to be there before its server is.
    let receiver = Receiver::start();
    let mut relay = Relay::start(store, "n1", &receiver.url(), &["--lease", nobody]);
    wait_until("it says what it waits for", || relay.log().contains("waiting for it"));
    assert!(names(&relay.log()), "{}", relay.log());
    assert_eq!(relay.stop(), 0);
}

fn its_failover_is_measured_together_with_the_database(store: &Store, place: &Place) {
    let url = place.url(CALM);
    let options = ["--kinds", "graceful,cut", "--rounds", "1", "--ttl", "12s", "--json"];
    let report = store.tenure(&[&["bench", "failover", "--lease", &url], &options[..]].concat()).ok().json();
    assert_eq!((&report["store"], &report["recorded_in"]), (&place.name().into(), &"sqlite".into()));
    assert_eq!((&report["handovers"], &report["overlaps"]), (&1.into(), &0.into()), "{report}");
    assert_eq!(
        (&report["kinds"]["graceful"]["rounds"], &report["settings"]["presence"]),
        (&1.into(), &false.into())
    );
    assert!(report["kinds"]["cut"].is_null(), "{report}");
    let measured = store.leases();
    assert!(measured.iter().all(|lease| lease["origin_term"].is_u64() && lease["term"] == 2), "{measured:?}");
    assert_eq!(measured.len(), 1);
}
