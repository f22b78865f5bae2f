//! Three relays on one database, killed, frozen and cut off at random while messages are committed: in the end the
//! receiver's ledger is the ledger of commits, each source in order.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::harness::{Answer, Receiver, Relay, Store, block_on, on, server, signal, wait_until};

/// How long faults go on.
const CHAOS: Duration = Duration::from_secs(60);
const SOURCES: usize = 8;
const RELAYS: usize = 3;
/// Deaths are noticed soon, failures tried again soon, and nothing is given up.
const OPTIONS: [&str; 10] = [
    "--ttl",
    "3s",
    "--retry-first",
    "20ms",
    "--retry-cap",
    "200ms",
    "--max-attempts",
    "1000000",
    "--deadline",
    "2s",
];

#[test]
fn s74_chaos_on_sqlite() {
    on("sqlite", |store| chaos(store, &Faults::default()));
}

#[test]
fn s74_chaos_on_mariadb() {
    on("mariadb", |store| chaos(store, &Faults { cut: Some(Store::end_known_sessions), crash: None }));
}

#[test]
fn s74_chaos_on_mysql() {
    on("mysql", |store| chaos(store, &Faults { cut: Some(Store::end_known_sessions), crash: None }));
}

#[test]
fn s74_chaos_on_postgres() {
    let Some(url) = server("TENURE_TEST_CHAOS_POSTGRES_URL") else { return };
    // The server belongs to this test alone.
    let faults = Faults {
        cut: Some(|store| cut_sessions(store.url())),
        crash: Some(|store| crash_server(store.url())),
    };
    chaos(&Store::at(&url), &faults);
}

/// What can be done to the server, where there is one.
#[derive(Default)]
struct Faults {
    cut: Option<fn(&Store)>,
    crash: Option<fn(&Store)>,
}

/// What was committed: the payloads of each source in order.
type Committed = Vec<Vec<String>>;

fn chaos(store: &Store, faults: &Faults) {
    let seed = fastrand::u64(..);
    eprintln!("the faults' seed is {seed}; what they hit is up to the machine");
    let mut chance = fastrand::Rng::with_seed(seed);
    store.tenure(&["migrate"]).ok();
    // What goes wrong is up to the payload, which is random, and to how often the message came.
    let luck = |body: &[u8], count: usize| {
        (body.iter().map(|byte| usize::from(*byte)).sum::<usize>() + count * 7) % 23
    };
    let receiver = Receiver::with(move |request, count| match luck(&request.body, count) {
        0 => Answer::Say("HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n".into()),
        1 => Answer::ApplyAndBreak,
        2 if count == 1 => Answer::Hang(Duration::from_millis(300)),
        _ => Answer::Apply,
    });
    let url = store.known_url();
    let start = |n: usize| Relay::start_by(store, &url, &format!("n{n}"), &receiver.url(), &OPTIONS);
    let mut relays: Vec<Relay> = (0..RELAYS).map(start).collect();
    let mut committed: Committed = vec![Vec::new(); SOURCES];
    let began = Instant::now();
    let (mut kills, mut freezes, mut cuts, mut crashes) = (0, 0, 0, 0);
    while began.elapsed() < CHAOS {
        for _ in 0..chance.usize(1..20) {
            commit_or_not(store, &mut committed, &mut chance);
        }
        let victim = chance.usize(..RELAYS);
        match (chance.u32(..12), faults) {
            (0..=2, _) => {
                relays[victim].kill();
                relays[victim] = start(victim);
                kills += 1;
            }
            (3 | 4, _) => {
                let pid = relays[victim].pid();
                signal(pid, Signal::SIGSTOP);
                // Sometimes for longer than the lease lasts.
                pass(Duration::from_millis(chance.u64(100..5_000)));
                signal(pid, Signal::SIGCONT);
                freezes += 1;
            }
            (5 | 6, Faults { cut: Some(cut), .. }) => {
                cut(store);
                cuts += 1;
            }
            (7, Faults { crash: Some(crash), .. }) if crashes < 4 => {
                crash(store);
                crashes += 1;
            }
            (8, _) => {
                // One that was started a moment ago may not catch signals yet: then the signal ends it.
                let code = relays[victim].stop();
                assert!([0, 143].contains(&code), "{code}: {}", relays[victim].log());
                relays[victim] = start(victim);
            }
            _ => pass(Duration::from_millis(chance.u64(..200))),
        }
    }
    eprintln!("{kills} kills, {freezes} freezes, {cuts} cuts, {crashes} crashes of the server");
    let total: usize = committed.iter().map(Vec::len).sum();
    assert!(total > 200 && kills > 0 && freezes > 0, "too little happened: {total} messages");
    wait_until_long("everything that was committed has taken effect", || receiver.applied() >= total);
    assert_eq!(receiver.applied(), total, "nothing takes effect that was not committed");
    for (n, payloads) in committed.iter().enumerate() {
        assert_eq!(&receiver.effects(&format!("source-{n}")), payloads, "source-{n}, seed {seed}");
    }
    wait_until("the outbox is empty", || {
        let stats = store.tenure(&["outbox", "stats", "--json"]).ok().json();
        (stats["pending"].as_u64(), stats["dispatched"].as_u64()) == (Some(0), Some(total as u64))
    });
    let repeated = receiver.requests().len() - total;
    eprintln!(
        "{total} messages, {repeated} deliveries more than that, none lost, none doubled, all in order"
    );
    for relay in &mut relays {
        assert_eq!(relay.stop(), 0, "{}", relay.log());
    }
}

/// A transaction of a few messages, which is sometimes rolled back. One whose fate is unknown is found out about.
fn commit_or_not(store: &Store, committed: &mut Committed, chance: &mut fastrand::Rng) {
    let outbox = store.table("outbox");
    let commits = chance.u32(..10) > 0;
    let mut sql = String::from("begin;");
    let mut fresh = Vec::new();
    for _ in 0..chance.usize(1..5) {
        let source = chance.usize(..SOURCES);
        let payload = format!("{:032x}", chance.u128(..));
        sql.push_str(&format!(
            "insert into {outbox} (topic, type, payload, source) values ('t', 'k', '{payload}', 'source-{source}');"
        ));
        fresh.push((source, payload));
    }
    sql.push_str(if commits { "commit;" } else { "rollback;" });
    let executed = store.try_execute(&sql);
    if !commits {
        return;
    }
    // A server that crashed may or may not have committed.
    let there = match executed {
        Ok(()) => true,
        Err(_) => wait_for_answer(store, &fresh[0].1),
    };
    if there {
        for (source, payload) in fresh {
            committed[source].push(payload);
        }
    }
}

fn wait_for_answer(store: &Store, payload: &str) -> bool {
    let outbox = store.table("outbox");
    let began = Instant::now();
    loop {
        match store.count(&format!("select count(*) from {outbox} where payload = '{payload}'")) {
            Ok(count) => return count > 0,
            Err(error) => assert!(began.elapsed() < Duration::from_secs(60), "{error}"),
        }
        pass(Duration::from_millis(100));
    }
}

fn cut_sessions(url: &str) {
    let sql = "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and backend_type = 'client backend'";
    let _ = block_on(async {
        let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await?;
        tokio::spawn(connection);
        client.batch_execute(sql).await
    });
}

/// Kills a server process: the whole server breaks every session, recovers from its log, and comes back.
fn crash_server(url: &str) {
    let pid = block_on(async {
        let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.ok()?;
        tokio::spawn(connection);
        let row = client.query_one("select pg_backend_pid()", &[]).await.ok()?;
        let pid: i32 = row.get(0);
        signal(nix::unistd::Pid::from_raw(pid), Signal::SIGKILL);
        Some(pid)
    });
    // Not every time is a connection had: the last crash may not be over.
    eprintln!("crashed the server by its process {pid:?}");
}

fn pass(time: Duration) {
    std::thread::sleep(time); // passes time: faults have a length
}

/// Backoffs, deadlines and ttls add up: more patience than usual.
fn wait_until_long(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(90), "waited in vain until {what}");
        pass(Duration::from_millis(50));
    }
}
