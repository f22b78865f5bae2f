//! The database goes away and comes back.

use std::time::Duration;

use nix::sys::signal::Signal;

use crate::harness::{Acts, Link, Proxy, Run, Store, is_running, tests_on, wait_until};

tests_on!(postgres:
    a_waiter_rides_out_a_server_that_refuses,
    a_waiter_rides_out_a_server_that_is_silent,
    e8_a_holder_that_hears_nothing_ends_its_command_before_the_next_acts,
    e8_a_holder_whose_server_refuses_ends_its_command_before_the_next_acts,
    a_short_outage_costs_nothing,
    a_server_that_is_away_at_the_start_is_waited_for_if_asked,
    with_restart_the_command_runs_again_when_the_server_is_back,
    a_signal_ends_a_wait_for_a_silent_server,
    s02_when_the_server_ends_every_session_nobody_acts_beside_another,
);
tests_on!(pgbouncer:
    a_waiter_rides_out_a_server_that_refuses,
    e8_a_holder_that_hears_nothing_ends_its_command_before_the_next_acts,
    a_short_outage_costs_nothing,
    with_restart_the_command_runs_again_when_the_server_is_back,
);
tests_on!(mariadb:
    a_waiter_rides_out_a_server_that_refuses,
    a_waiter_rides_out_a_server_that_is_silent,
    e8_a_holder_that_hears_nothing_ends_its_command_before_the_next_acts,
    e8_a_holder_whose_server_refuses_ends_its_command_before_the_next_acts,
    a_short_outage_costs_nothing,
    a_server_that_is_away_at_the_start_is_waited_for_if_asked,
    with_restart_the_command_runs_again_when_the_server_is_back,
    a_signal_ends_a_wait_for_a_silent_server,
    s02_when_the_server_ends_every_session_nobody_acts_beside_another,
);
tests_on!(mysql:
    a_waiter_rides_out_a_server_that_refuses,
    a_waiter_rides_out_a_server_that_is_silent,
    e8_a_holder_that_hears_nothing_ends_its_command_before_the_next_acts,
    e8_a_holder_whose_server_refuses_ends_its_command_before_the_next_acts,
    a_short_outage_costs_nothing,
    a_server_that_is_away_at_the_start_is_waited_for_if_asked,
    with_restart_the_command_runs_again_when_the_server_is_back,
    a_signal_ends_a_wait_for_a_silent_server,
    s02_when_the_server_ends_every_session_nobody_acts_beside_another,
);

fn pass(time: Duration) {
    std::thread::sleep(time); // passes time: an outage has a length
}

fn a_waiter_rides_out_a_server_that_refuses(store: &Store) {
    rides_out(store, Link::Refused);
}

fn a_waiter_rides_out_a_server_that_is_silent(store: &Store) {
    rides_out(store, Link::Silent);
}

fn rides_out(store: &Store, outage: Link) {
    let link = Proxy::before(store.url());
    let (mut holder, term) = Run::calm(store).holding(&["sleep", "1000"]);
    let mut waiter = Run::brisk(store).by(&link.url(store.url())).waiting(&["sh", "-c", "exit 6"]);
    link.set(outage);
    // The lease becomes free while the waiter cannot know.
    holder.signal(Signal::SIGTERM);
    holder.exit();
    pass(Duration::from_secs(3)); // an outage that is longer than one try
    assert!(!waiter.has_ended() && waiter.events("acquired").is_empty(), "{}", waiter.stderr());
    link.set(Link::Open);
    assert_eq!(waiter.exit(), 6, "{}", waiter.stderr());
    assert_eq!(waiter.until("acquired")["term"], term + 1);
}

fn a_server_that_is_away_at_the_start_is_waited_for_if_asked(store: &Store) {
    let link = Proxy::before(store.url());
    link.set(Link::Refused);
    let url = link.url(store.url());
    assert_eq!(Run::brisk(store).by(&url).start(&["true"]).exit(), 1, "unless asked, it is an error at once");
    assert_eq!(Run::brisk(store).by(&url).with(&["--wait", "1s"]).start(&["true"]).exit(), 1);
    let mut patient = Run::brisk(store).by(&url).with(&["--wait", "60s"]).start(&["sh", "-c", "exit 6"]);
    wait_until("it says that it waits", || patient.stderr().contains("waiting for it"));
    link.set(Link::Open);
    assert_eq!(patient.exit(), 6, "{}", patient.stderr());
}

fn e8_a_holder_that_hears_nothing_ends_its_command_before_the_next_acts(store: &Store) {
    holder_loses(store, Link::Silent);
}

fn e8_a_holder_whose_server_refuses_ends_its_command_before_the_next_acts(store: &Store) {
    holder_loses(store, Link::Refused);
}

fn holder_loses(store: &Store, outage: Link) {
    let acts = Acts::new(store);
    let link = Proxy::before(store.url());
    let (mut holder, term) = Run::brisk(store).by(&link.url(store.url())).holding(&acts.command());
    let standby = Run::brisk(store).waiting(&acts.command());
    acts.wait_for_more(term);
    link.set(outage);
    wait_until("the end of the command", || !is_running(holder.command()));
    acts.wait_for_more(term + 1);
    acts.assert_no_overlap();
    assert_eq!(holder.exit(), 1, "{}", holder.stderr());
    assert!(holder.stderr().contains("lease job lost"), "{}", holder.stderr());
    assert!(!store.fence_holds("job", term));
    standby.assert_passes_the_fence(store);
}

fn a_short_outage_costs_nothing(store: &Store) {
    let acts = Acts::new(store);
    let link = Proxy::before(store.url());
    let (mut holder, term) = Run::calm(store).by(&link.url(store.url())).holding(&acts.command());
    for outage in [Link::Silent, Link::Refused] {
        acts.wait_for_more(term);
        link.set(outage);
        pass(Duration::from_secs(1)); // well within the trust of a calm holder
        link.set(Link::Open);
    }
    acts.wait_for_more(term);
    assert!(!holder.has_ended() && store.fence_holds("job", term), "{}", holder.stderr());
    assert_eq!(acts.terms().len(), 1);
}

fn with_restart_the_command_runs_again_when_the_server_is_back(store: &Store) {
    let acts = Acts::new(store);
    let link = Proxy::before(store.url());
    let run = Run::brisk(store).by(&link.url(store.url())).with(&["--restart"]);
    let (mut holder, mut term) = run.holding(&acts.command());
    for (round, outage) in [Link::Silent, Link::Refused].into_iter().enumerate() {
        acts.wait_for_more(term);
        link.set(outage);
        holder.until_nth("lost", round + 1);
        pass(Duration::from_secs(2)); // the outage outlasts the first try to have the lease again
        link.set(Link::Open);
        let again = holder.until_nth("acquired", round + 2)["term"].as_u64().unwrap();
        assert!(again > term, "{again} after {term}");
        term = again;
    }
    acts.wait_for_more(term);
    acts.assert_no_overlap();
    holder.signal(Signal::SIGTERM);
    assert_eq!(holder.exit(), 128 + 15);
}

fn a_signal_ends_a_wait_for_a_silent_server(store: &Store) {
    let link = Proxy::before(store.url());
    let (_holder, _) = Run::calm(store).holding(&["sleep", "1000"]);
    let mut waiter = Run::brisk(store).by(&link.url(store.url())).waiting(&["true"]);
    link.set(Link::Silent);
    pass(Duration::from_secs(4)); // the waiter has looked again and hears nothing
    waiter.signal(Signal::SIGTERM);
    assert_eq!(waiter.exit(), 128 + 15, "{}", waiter.stderr());
}

fn s02_when_the_server_ends_every_session_nobody_acts_beside_another(store: &Store) {
    let acts = Acts::new(store);
    let url = store.known_url();
    let (_holder, term) = Run::brisk(store).by(&url).with(&["--restart"]).holding(&acts.command());
    let _standby = Run::brisk(store).by(&url).with(&["--restart"]).waiting(&acts.command());
    for _ in 0..3 {
        let last = *acts.terms().keys().last().unwrap_or(&term);
        acts.wait_for_more(last);
        store.end_known_sessions();
    }
    // Somebody goes on, or takes over.
    let last = *acts.terms().keys().last().unwrap();
    let before = acts.terms()[&last].last;
    wait_until("acts a while later", || acts.terms().values().any(|span| span.last > before + 4_000_000));
    acts.assert_no_overlap();
}
