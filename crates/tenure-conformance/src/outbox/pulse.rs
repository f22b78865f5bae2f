//! Bounded numbers.

use std::time::Duration;

use tenure_core::outbox::{Count, Pulse};

use super::backend::OutboxBackend;
use super::desk::{Desk, again, message, of, only};

const LATER: Duration = Duration::from_secs(3_600);

async fn pulse(desk: &Desk<'_>, at_most: u32) -> Pulse {
    let pulse = desk.admin.pulse(at_most).await;
    pulse.unwrap_or_else(|error| panic!("a pulse must be answered: {error}"))
}

/// Where all can be looked at, the numbers are those of the statistics.
pub async fn a_pulse_agrees_with_the_numbers_of_a_small_outbox(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let empty = pulse(&desk, 100).await;
    assert_eq!((empty.newest, empty.lag, empty.lag_is_least), (None, None, false));
    let none = Count::default();
    assert_eq!([empty.pending, empty.retrying, empty.dead, empty.halted_sources], [none; 4]);

    desk.sends(&[message(1), of("w", 2), message(3).delayed(LATER)]).await;
    let failed = [of("f", 4), message(5)];
    desk.sends(&failed).await;
    for one in &failed {
        let row = desk.row(one).await;
        desk.settles(again(&row, LATER)).await;
    }
    desk.delivers(&message(6)).await;
    desk.buries(&message(7), false).await;
    for source in ["h", "i"] {
        desk.buries(&of(source, 8), true).await;
        desk.sends(&[of(source, 9)]).await;
    }
    let discarded = message(10);
    desk.buries(&discarded, false).await;
    desk.discards(&only(&discarded), "ann", 1).await;
    for at_most in [100, u32::MAX] {
        let (before, pulse, stats) = (desk.now().await, pulse(&desk, at_most).await, desk.stats().await);
        assert!(pulse.now >= before && pulse.now <= desk.now().await, "by the store's clock");
        assert_eq!(pulse.pending, Count::exactly(stats.pending), "{pulse:?} {stats:?}");
        assert_eq!(pulse.retrying, Count::exactly(stats.retrying), "{pulse:?} {stats:?}");
        assert_eq!(pulse.dead, Count::exactly(stats.dead), "{pulse:?} {stats:?}");
        assert_eq!(pulse.halted_sources, Count::exactly(2), "{pulse:?} {stats:?}");
        assert!(!pulse.lag_is_least);
        assert_eq!(pulse.newest, Some(desk.summary(&discarded).await.row));
    }
}

/// The lag is that of the statistics: of what could have gone, and no other.
pub async fn the_lag_of_a_pulse_leaves_out_what_could_not_go(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let halts = of("h", 1);
    desk.buries(&halts, true).await;
    desk.sends(&[of("h", 2), message(3).delayed(LATER), of("d", 4).delayed(LATER)]).await;
    assert_eq!(pulse(&desk, 100).await.lag, None, "delayed and halted ones do not count");
    backend.pass(Duration::from_millis(60)).await;
    let failed = message(5);
    desk.sends(std::slice::from_ref(&failed)).await;
    let row = desk.row(&failed).await;
    desk.settles(again(&row, LATER)).await;
    let created = desk.summary(&failed).await.created_at;
    backend.pass(Duration::from_millis(30)).await;
    let before = desk.now().await;
    let lag = pulse(&desk, 100).await.lag.expect("what failed waits");
    assert!(lag >= created.until(before) && lag <= created.until(desk.now().await), "{lag:?}");
    desk.discards(&only(&halts), "ann", 1).await;
    assert!(pulse(&desk, 100).await.lag.is_some_and(|longer| longer > lag + Duration::from_millis(50)));
}

/// However much there is, no more is counted than was asked for, and it says so.
pub async fn a_pulse_counts_no_further_than_it_is_told(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let sent: Vec<_> = (0..40).map(|number| of(&format!("s{}", number % 7), number)).collect();
    desk.sends(&sent).await;
    desk.sends(&(40..60).map(message).collect::<Vec<_>>()).await;
    for number in 60..72 {
        desk.buries(&message(number), false).await;
    }
    let short = pulse(&desk, 10).await;
    assert_eq!(short.pending, Count { number: 10, or_more: true }, "{short:?}");
    assert_eq!(short.dead, Count { number: 10, or_more: true }, "{short:?}");
    assert!(short.retrying.number <= 10 && short.lag_is_least, "{short:?}");
    assert!(short.lag.is_some(), "what was looked at has waited: {short:?}");
    assert_eq!(short.newest, pulse(&desk, 1_000).await.newest);
    let exact = pulse(&desk, 60).await;
    assert_eq!((exact.pending, exact.dead), (Count::exactly(60), Count::exactly(12)), "{exact:?}");
    let none = pulse(&desk, 0).await;
    assert_eq!(none.pending, Count { number: 0, or_more: true });
}
