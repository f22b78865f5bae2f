//! The settings of a lease, and how they must stand to each other.
//!
//! ```text
//!  attempt starts                                             store lets others in
//!  │◀──────────────────────── ttl ──────────────────────────────▶│
//!  │◀────────── trust ─────────────────────────────▶│◀─ margin ─▶│
//!  │◀─ renew ─▶│◀─ renew ─▶│
//! ```

use std::time::Duration;

/// The shortest ttl. Below it, ordinary delays of a database would depose healthy holders.
pub const TTL_MIN: Duration = Duration::from_secs(1);
/// The longest ttl.
pub const TTL_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// The shortest margin.
const MARGIN_MIN: Duration = Duration::from_millis(20);
/// The shortest interval between pings, so that a typing error is no load test.
const PING_MIN: Duration = Duration::from_millis(50);

/// Two settings that do not fit together, or one out of its range. The message names each field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SettingsError(String);

impl SettingsError {
    /// The error with this message, unless what must hold holds.
    pub(crate) fn unless(holds: bool, message: impl FnOnce() -> String) -> Result<(), Self> {
        if holds { Ok(()) } else { Err(Self(message())) }
    }
}

/// How a lease is held and waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseSettings {
    /// How long a grant lasts without a renewal: what a crash costs where there is no presence. 6 s.
    pub ttl: Duration,
    /// How often it is renewed; less than half the ttl, so that one lost renewal is harmless. 2 s.
    pub renew: Duration,
    /// How long before the ttl the holder stops trusting itself. Covers clocks of different rate: the holder's and the
    /// store's may differ by `margin / ttl`, which is 8 % with the defaults. At least a 200th of the ttl. 500 ms.
    pub margin: Duration,
    /// How often `acquire` tries again before it answers that the lease is held. 0.
    pub acquire_retries: u32,
    /// How long `acquire` waits between tries. 500 ms.
    pub acquire_delay: Duration,
    /// How often one who waits looks at the row when nothing wakes it. 2.25 s.
    pub poll: Duration,
    /// How a death is noticed before the ttl; `None` lets the ttl alone decide.
    pub presence: Option<PresenceSettings>,
    /// Give the lease up when the work has not shown progress for this long; `None` renews whatever the work does.
    pub watchdog: Option<Duration>,
}

impl Default for LeaseSettings {
    fn default() -> Self {
        Self::with_ttl(Duration::from_secs(6))
    }
}

impl LeaseSettings {
    /// The settings that go with a ttl: renewal at a third of it, margin at a twelfth, but not above 500 ms unless the
    /// ttl is so long that clocks need more.
    pub fn with_ttl(ttl: Duration) -> Self {
        Self {
            ttl,
            renew: ttl / 3,
            margin: (ttl / 12).min(Duration::from_millis(500)).max(ttl / 100),
            acquire_retries: 0,
            acquire_delay: Duration::from_millis(500),
            poll: Duration::from_millis(2250),
            presence: Some(PresenceSettings::default()),
            watchdog: None,
        }
    }

    /// Checks every field, and every pair that must fit together.
    pub fn validate(&self) -> Result<(), SettingsError> {
        let Self { ttl, renew, margin, poll, acquire_delay, .. } = self;
        check(*ttl >= TTL_MIN && *ttl <= TTL_MAX, || {
            format!("ttl {ttl:?} is not between {TTL_MIN:?} and 24h")
        })?;
        check(!renew.is_zero(), || "renew is zero".into())?;
        check(*renew < *ttl / 2, || format!("renew {renew:?} is not below half of ttl {ttl:?}"))?;
        check(*margin >= MARGIN_MIN, || format!("margin {margin:?} is below {MARGIN_MIN:?}"))?;
        check(*margin >= *ttl / 200, || {
            format!("margin {margin:?} is below a 200th of ttl {ttl:?}: clocks of different rate need more")
        })?;
        check(*margin < *renew, || format!("margin {margin:?} is not below renew {renew:?}"))?;
        check(!poll.is_zero(), || "poll is zero".into())?;
        check(!acquire_delay.is_zero(), || "acquire_delay is zero".into())?;
        check(self.watchdog.is_none_or(|limit| limit >= *renew), || {
            format!("watchdog {:?} is below renew {renew:?}", self.watchdog.unwrap_or_default())
        })?;
        self.presence.as_ref().map_or(Ok(()), |presence| presence.validate(*ttl, *margin))
    }

    /// How long after the start of a successful attempt the holder trusts its row.
    pub fn row_trust(&self) -> Duration {
        self.ttl.saturating_sub(self.margin)
    }
}

/// How presence is kept and how far it is trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PresenceSettings {
    /// How often the session is pinged. 250 ms.
    pub ping: Duration,
    /// How long after the start of the last ping the holder trusts itself. 700 ms.
    pub trust: Duration,
    /// After how much silence the store ends the session, where it can. 1.5 s.
    pub idle_timeout: Duration,
}

impl Default for PresenceSettings {
    fn default() -> Self {
        Self {
            ping: Duration::from_millis(250),
            trust: Duration::from_millis(700),
            idle_timeout: Duration::from_millis(1500),
        }
    }
}

impl PresenceSettings {
    fn validate(&self, ttl: Duration, margin: Duration) -> Result<(), SettingsError> {
        let Self { ping, trust, idle_timeout } = self;
        check(*ping >= PING_MIN, || format!("presence ping {ping:?} is below {PING_MIN:?}"))?;
        check(*ping * 2 <= *trust, || {
            format!("presence ping {ping:?} is above half of presence trust {trust:?}")
        })?;
        check(*trust < *idle_timeout, || {
            format!("presence trust {trust:?} is not below presence idle_timeout {idle_timeout:?}")
        })?;
        let row_trust = ttl.saturating_sub(margin);
        check(*trust <= row_trust, || {
            format!(
                "presence trust {trust:?} is above ttl {ttl:?} minus margin {margin:?}: presence would gain nothing"
            )
        })
    }

    /// How long a contender waits after it saw a presence end that was announced with `trust`: a tenth longer, for
    /// clocks of different rate.
    pub fn wait_out(trust: Duration) -> Duration {
        trust.saturating_add(trust / 10)
    }
}

fn check(holds: bool, message: impl FnOnce() -> String) -> Result<(), SettingsError> {
    SettingsError::unless(holds, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(change: impl FnOnce(&mut LeaseSettings)) -> String {
        let mut settings = LeaseSettings::default();
        change(&mut settings);
        settings.validate().unwrap_err().to_string()
    }

    #[test]
    fn defaults_are_those_of_the_docs() {
        let settings = LeaseSettings::default();
        settings.validate().unwrap();
        assert_eq!(settings.ttl, Duration::from_secs(6));
        assert_eq!(settings.renew, Duration::from_secs(2));
        assert_eq!(settings.margin, Duration::from_millis(500));
        LeaseSettings::with_ttl(TTL_MIN).validate().unwrap();
        LeaseSettings::with_ttl(TTL_MAX).validate().unwrap();
    }

    #[test]
    fn refusals_name_both_fields() {
        assert!(refusal(|s| s.ttl = Duration::from_millis(999)).contains("ttl 999ms"));
        let renew = refusal(|s| s.renew = Duration::from_secs(3));
        assert!(renew.contains("renew 3s") && renew.contains("ttl 6s"), "{renew}");
        let drift = refusal(|s| s.margin = Duration::from_millis(25));
        assert!(drift.contains("margin 25ms") && drift.contains("ttl 6s"), "{drift}");
        let margin = refusal(|s| s.margin = Duration::from_secs(2));
        assert!(margin.contains("margin 2s") && margin.contains("renew 2s"), "{margin}");
        let ping = refusal(|s| s.presence.as_mut().unwrap().ping = Duration::from_millis(400));
        assert!(ping.contains("ping 400ms") && ping.contains("trust 700ms"), "{ping}");
        let trust = refusal(|s| s.presence.as_mut().unwrap().trust = Duration::from_millis(1500));
        assert!(trust.contains("trust 1.5s") && trust.contains("idle_timeout 1.5s"), "{trust}");
    }
}
