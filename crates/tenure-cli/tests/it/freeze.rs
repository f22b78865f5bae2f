//! SIGSTOP: tenure cannot act, and later the whole machine cannot.

use nix::sys::signal::Signal;

use crate::harness::{
    Acts, Run, Runner, Store, guard_of, is_running, signal, signal_group, tests_on, wait_until,
};

tests_on!(sqlite: s01_the_command_of_a_stopped_tenure_is_gone_before_the_next_holder_acts, a_stopped_tenure_has_its_command_ended_also_without_a_standby, s01_after_a_pause_of_the_machine_the_command_is_ended_and_its_term_refused, s01_after_a_pause_with_a_standby_only_the_new_term_passes_the_fence);
tests_on!(postgres: s01_the_command_of_a_stopped_tenure_is_gone_before_the_next_holder_acts, a_stopped_tenure_has_its_command_ended_also_without_a_standby, s01_after_a_pause_of_the_machine_the_command_is_ended_and_its_term_refused, s01_after_a_pause_with_a_standby_only_the_new_term_passes_the_fence);
tests_on!(pgbouncer: s01_the_command_of_a_stopped_tenure_is_gone_before_the_next_holder_acts, s01_after_a_pause_with_a_standby_only_the_new_term_passes_the_fence);
tests_on!(mariadb:
    s01_the_command_of_a_stopped_tenure_is_gone_before_the_next_holder_acts,
    a_stopped_tenure_has_its_command_ended_also_without_a_standby,
    s01_after_a_pause_of_the_machine_the_command_is_ended_and_its_term_refused,
    s01_after_a_pause_with_a_standby_only_the_new_term_passes_the_fence,
);
tests_on!(mysql:
    s01_the_command_of_a_stopped_tenure_is_gone_before_the_next_holder_acts,
    a_stopped_tenure_has_its_command_ended_also_without_a_standby,
    s01_after_a_pause_of_the_machine_the_command_is_ended_and_its_term_refused,
    s01_after_a_pause_with_a_standby_only_the_new_term_passes_the_fence,
);

fn s01_the_command_of_a_stopped_tenure_is_gone_before_the_next_holder_acts(store: &Store) {
    let acts = Acts::new(store);
    let (mut holder, term) = Run::brisk(store).holding(&acts.command());
    let standby = Run::brisk(store).waiting(&acts.command());
    acts.wait_for_more(term);
    holder.signal(Signal::SIGSTOP);
    acts.wait_for_more(term + 1);
    acts.assert_no_overlap();
    assert!(!is_running(holder.command()), "ended by the guard while tenure was stopped");
    assert!(!store.fence_holds("job", term));
    standby.assert_passes_the_fence(store);
    holder.signal(Signal::SIGCONT);
    wakes_to_loss(&mut holder);
    acts.assert_no_overlap();
}

fn a_stopped_tenure_has_its_command_ended_also_without_a_standby(store: &Store) {
    let (mut holder, _) = Run::brisk(store).holding(&["sleep", "1000"]);
    let command = holder.command();
    holder.signal(Signal::SIGSTOP);
    wait_until("the end of the command", || !is_running(command));
    holder.signal(Signal::SIGCONT);
    wakes_to_loss(&mut holder);
}

fn s01_after_a_pause_of_the_machine_the_command_is_ended_and_its_term_refused(store: &Store) {
    let acts = Acts::new(store);
    let (mut holder, term) = Run::brisk(store).holding(&acts.command());
    acts.wait_for_more(term);
    let pause = Pause::begin(&holder);
    wait_until("the end of the ttl", || !store.fence_holds("job", term));
    assert!(is_running(holder.command()), "asleep with the rest");
    pause.end();
    wait_until("the end of the command on waking", || !is_running(holder.command()));
    wakes_to_loss(&mut holder);
    assert!(!store.fence_holds("job", term));
}

fn s01_after_a_pause_with_a_standby_only_the_new_term_passes_the_fence(store: &Store) {
    let acts = Acts::new(store);
    let (mut holder, term) = Run::brisk(store).holding(&acts.command());
    let standby = Run::brisk(store).waiting(&acts.command());
    acts.wait_for_more(term);
    let pause = Pause::begin(&holder);
    acts.wait_for_more(term + 1);
    pause.end();
    // For a moment two commands run: that is what the fence is for.
    assert!(!store.fence_holds("job", term));
    standby.assert_passes_the_fence(store);
    wait_until("the end of the command on waking", || !is_running(holder.command()));
    wakes_to_loss(&mut holder);
    // The one who woke has released nothing that is not its own.
    standby.assert_passes_the_fence(store);
    acts.wait_for_more(term + 1);
}

/// It says why it leaves.
fn wakes_to_loss(holder: &mut Runner) {
    assert_eq!(holder.exit(), 1);
    let lost = holder.until("lost");
    assert!(lost["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{lost}");
    assert!(holder.stderr().contains("lease job lost"), "{}", holder.stderr());
    assert_eq!(holder.until("result")["lost"], true);
}

/// Tenure, its guard and its command, all stopped as by a pause of the machine.
struct Pause<'a> {
    holder: &'a Runner,
    guard: nix::unistd::Pid,
}

impl<'a> Pause<'a> {
    fn begin(holder: &'a Runner) -> Self {
        let guard = guard_of(holder.pid()).expect("a guard");
        let command = holder.command();
        // The guard first: it must not see the others stand still.
        signal(guard, Signal::SIGSTOP);
        holder.signal(Signal::SIGSTOP);
        signal_group(command, Signal::SIGSTOP);
        Self { holder, guard }
    }

    /// The command wakes first, which is the worst order.
    fn end(self) {
        signal_group(self.holder.command(), Signal::SIGCONT);
        signal(self.guard, Signal::SIGCONT);
        self.holder.signal(Signal::SIGCONT);
    }
}
