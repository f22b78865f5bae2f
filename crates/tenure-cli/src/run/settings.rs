//! The settings of the lease, and what follows from them for the command.

use std::time::Duration;

use tenure::core::lease::{LeaseSettings, PresenceSettings};

use super::guard::OWN_LEAD;
use crate::args::RunArgs;

/// A supervisor is not taken for dead before it stood still for this long.
const STALL_MIN: Duration = Duration::from_secs(2);
/// SIGTERM goes out at least this long before SIGKILL.
const TERM_BEFORE_KILL_MIN: Duration = Duration::from_millis(10);

/// What the command line says.
pub(super) fn from_args(args: &RunArgs) -> LeaseSettings {
    let mut settings = LeaseSettings::with_ttl(args.ttl);
    settings.renew = args.renew.unwrap_or(settings.renew);
    settings.margin = args.margin.unwrap_or(settings.margin);
    settings.presence = (!args.no_presence).then(|| {
        let default = PresenceSettings::default();
        // Silence must outlast trust: keep their distance when trust is set.
        let idle_timeout = default.idle_timeout.max(args.presence_trust * 2);
        PresenceSettings { trust: args.presence_trust, idle_timeout, ..default }
    });
    settings
}

/// How long the supervisor may stand still before the lease is given up: at least as long as the guard lets the command
/// live without a word from it. `able` says whether the store has presence.
pub(super) fn watchdog(settings: &LeaseSettings, able: bool) -> Duration {
    let trust = match presence(settings, able) {
        Some(presence) => presence.trust,
        None => settings.row_trust(),
    };
    trust.max(settings.renew).max(STALL_MIN)
}

/// With `--on-lost term`, how much trust is left when SIGTERM goes out: a quarter of what is always left while pings or
/// renewals arrive in time, so that a slow one ends nothing.
pub(super) fn term_lead(settings: &LeaseSettings, able: bool) -> Duration {
    let spare = match presence(settings, able) {
        Some(presence) => presence.trust.saturating_sub(presence.ping),
        None => settings.row_trust().saturating_sub(settings.renew),
    };
    (spare / 4).max(OWN_LEAD + TERM_BEFORE_KILL_MIN)
}

fn presence(settings: &LeaseSettings, able: bool) -> Option<&PresenceSettings> {
    settings.presence.as_ref().filter(|_| able)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_trust(millis: u64) -> LeaseSettings {
        let trust = Duration::from_millis(millis);
        let presence = PresenceSettings { trust, idle_timeout: trust * 3, ..PresenceSettings::default() };
        LeaseSettings { presence: Some(presence), ..LeaseSettings::default() }
    }

    #[test]
    fn sigterm_never_goes_out_while_pings_and_renewals_arrive() {
        for millis in [500, 700, 1400] {
            let settings = with_trust(millis);
            let lead = term_lead(&settings, true);
            assert!(lead > OWN_LEAD, "{millis}: SIGTERM comes before SIGKILL");
            // What is left when a ping is as late as it is long.
            assert!(lead < Duration::from_millis(millis - 250) / 2, "{millis}: {lead:?}");
        }
        assert_eq!(term_lead(&with_trust(700), true), Duration::from_micros(112_500));
        assert_eq!(term_lead(&with_trust(700), false), Duration::from_millis(875), "the row's own pace");
    }

    #[test]
    fn the_watchdog_outlasts_what_the_guard_tolerates_and_fits_the_settings() {
        for (settings, able) in [(with_trust(700), true), (with_trust(700), false), (with_trust(5000), true)]
        {
            let watchdog = watchdog(&settings, able);
            LeaseSettings { watchdog: Some(watchdog), ..settings.clone() }.validate().unwrap();
            let trust = if able { settings.presence.unwrap().trust } else { Duration::from_millis(5500) };
            assert!(watchdog >= trust, "{watchdog:?}");
        }
        assert_eq!(watchdog(&with_trust(700), true), Duration::from_secs(2));
    }
}
