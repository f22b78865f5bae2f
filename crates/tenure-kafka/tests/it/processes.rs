//! Holders in processes of their own: killed, frozen, ended.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tenure_core::contract::LeaseStore;
use tenure_core::lease::{LeaseName, Renewal};
use tenure_kafka::KafkaLeaseOptions;

use crate::place::{Place, Player, lease};

const URL: &str = "TENURE_TEST_HOLDER_URL";
const LEASE: &str = "TENURE_TEST_HOLDER_LEASE";

/// A process that holds a lease and says what becomes of its renewals.
struct Holder {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
}

impl Holder {
    fn start(place: &Place, name: &LeaseName, what: &str) -> Self {
        let KafkaLeaseOptions { kafka, topic, heartbeat, session_timeout, .. } = &place.options;
        let url = format!(
            "{}/{topic}?heartbeat={}ms&session-timeout={}ms",
            kafka.label(),
            heartbeat.as_millis(),
            session_timeout.as_millis()
        );
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &format!("processes::{what}"), "--nocapture", "--test-threads=1"])
            .env(URL, url)
            .env(LEASE, name.as_str())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    /// Waits for a line that holds this word.
    fn says(&mut self, word: &str) -> String {
        let mut line = String::new();
        loop {
            line.clear();
            assert!(self.lines.read_line(&mut line).unwrap() > 0, "the holder ended without a `{word}`");
            if line.contains(word) {
                return line;
            }
        }
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn say(line: &str) {
    let mut out = std::io::stdout();
    writeln!(out, "\n{line}").unwrap();
    out.flush().unwrap();
}

/// The other process: renews until it has lost the lease. Nothing to do for the process that runs the tests.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hold() {
    let (Ok(url), Ok(name)) = (std::env::var(URL), std::env::var(LEASE)) else { return };
    let options = KafkaLeaseOptions::from_url(&url).unwrap();
    let ttl = (options.session_timeout / 5).min(Duration::from_secs(6));
    let player = Player::new(options, "holder");
    let grant = player.takes(&LeaseName::new(name).unwrap(), ttl).await;
    say("HELD");
    for number in 1.. {
        match player.store.renew(&grant, &Renewal { number, presence: None }).await {
            Ok(tenure_core::lease::Renew::Extended) => say("EXTENDED"),
            Ok(lost) => return say(&format!("LOST {lost:?}")),
            Err(error) => say(&format!("ERROR {error}")),
        }
        // passes time: the holder renews as a keeper does
        tokio::time::sleep(ttl / 3).await;
    }
}

/// The other process: takes a lease, gives it back, drops the store, and counts the threads that are left.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leave() {
    let (Ok(url), Ok(name)) = (std::env::var(URL), std::env::var(LEASE)) else { return };
    let player = Player::new(KafkaLeaseOptions::from_url(&url).unwrap(), "leaver");
    let name = LeaseName::new(name).unwrap();
    let ours = |prefix: &str| {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        let names = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
        names.filter(|name| name.starts_with(prefix)).count()
    };
    for _ in 0..3 {
        let grant = player.takes(&name, Duration::from_millis(500)).await;
        assert_eq!(ours("tenure-kafka"), 3, "a member, its commits, the topic's reader");
        player.releases(&grant).await;
    }
    let settled = async |count: &dyn Fn() -> usize| {
        let until = Instant::now() + Duration::from_secs(5);
        while count() > 0 && Instant::now() < until {
            // passes time: threads end by themselves
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        count()
    };
    let member = settled(&|| ours("tenure-kafka").saturating_sub(1)).await;
    drop(player);
    let all = settled(&|| ours("tenure-kafka") + ours("rdk:")).await;
    say(&format!("LEFT {member} {all}"));
}

async fn kill(place: Place, what: &str) -> Duration {
    let name = lease("kill");
    let mut holder = Holder::start(&place, &name, "hold");
    let bob = place.enter("bob");
    tokio::task::block_in_place(|| holder.says("HELD"));
    let ttl = Duration::from_millis(600);
    bob.finds_held(&name, ttl).await;
    let waiting = tokio::spawn({
        let (bob, claim) = (bob.clone(), bob.claim(&name, ttl));
        async move { (bob.gets(&claim, Duration::from_secs(60)).await, Instant::now()) }
    });
    tokio::task::block_in_place(|| holder.says("EXTENDED"));
    // passes time: the kill falls anywhere between two heartbeats
    tokio::time::sleep(Duration::from_millis(u64::from(std::process::id() % 700))).await;
    holder.signal("-KILL");
    let killed = Instant::now();
    let (_, at) = waiting.await.unwrap();
    let took = at - killed;
    let _ = writeln!(std::io::stderr(), "{what}: SIGKILL to the next holder {took:?}");
    took
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_holder_is_replaced_when_its_session_ends() {
    let Some(place) = Place::quick() else { return };
    let session = place.options.session_timeout;
    let took = kill(place, "kafka real, session 3 s").await;
    assert!(took < session + Duration::from_secs(2), "{took:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_holder_is_replaced_in_time_with_the_defaults() {
    let (Some(place), Ok(_)) = (Place::real(), std::env::var("TENURE_TEST_ROUNDS")) else { return };
    let took = kill(place, "kafka real, session 30 s").await;
    assert!(took < Duration::from_secs(32), "{took:?}");
}

/// s22, kafkaflow#111: a frozen process is put out; when it wakes, nothing is extended any more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s22_a_frozen_holder_has_lost_when_it_wakes() {
    let Some(place) = Place::quick() else { return };
    let name = lease("frozen");
    let mut holder = Holder::start(&place, &name, "hold");
    let bob = place.enter("bob");
    tokio::task::block_in_place(|| {
        holder.says("HELD");
        holder.says("EXTENDED");
    });
    holder.signal("-STOP");
    let grant = bob.takes(&name, Duration::from_secs(2)).await;
    holder.signal("-CONT");
    let lost = tokio::task::block_in_place(|| holder.says("LOST"));
    assert!(!lost.is_empty());
    assert_eq!(bob.renews(&grant, 1).await, tenure_core::lease::Renew::Extended, "the new holder goes on");
}

/// D5: with the release the member's threads end, and with the store all of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d05_nothing_is_left_behind() {
    let Some(place) = Place::quick() else { return };
    let mut holder = Holder::start(&place, &lease("threads"), "leave");
    let left = tokio::task::block_in_place(|| holder.says("LEFT"));
    assert_eq!(left.trim(), "LEFT 0 0", "member's threads after the release, all threads after the drop");
}
