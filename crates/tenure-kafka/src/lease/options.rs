//! How leases are held in a consumer group: names, times, and how they must fit together.

use std::time::Duration;

use tenure_core::StoreError;
use tenure_core::lease::LeaseName;

use crate::options::{KafkaOptions, duration, refuse, unknown_option};
use crate::url::{KafkaUrl, check_topic};

/// The topic on which claims are written, unless told otherwise.
pub const DEFAULT_TOPIC: &str = "__tenure_exclusive";
/// What the groups' names begin with, unless told otherwise.
pub const DEFAULT_GROUP: &str = "tenure-exclusive";

/// The longest session timeout that brokers accept by default.
const SESSION_MAX: Duration = Duration::from_secs(30 * 60);
const HEARTBEAT_MIN: Duration = Duration::from_millis(50);
/// The options of a lease URL beside the common ones.
const OWN: &str = "group, heartbeat, session-timeout, replication-factor, join-timeout";

/// How leases are held in a consumer group.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct KafkaLeaseOptions {
    /// How to reach the brokers.
    pub kafka: KafkaOptions,
    /// The topic on which claims are written; made with one partition if it is missing. `__tenure_exclusive`.
    pub topic: String,
    /// What the groups' names begin with: the group of a lease is `GROUP-LEASE`. `tenure-exclusive`.
    pub group: String,
    /// How often a member of the group shows the coordinator that it lives. 3 s.
    pub heartbeat: Duration,
    /// After how long without a sign of life the coordinator puts a member out. 30 s.
    pub session_timeout: Duration,
    /// How many brokers keep a copy of the topic when it is made here; `None` leaves it to the cluster's own default.
    pub replication_factor: Option<i32>,
    /// How long a claim waits for the group to say who has the partition, before it answers that the lease is held. 5 s.
    pub join_timeout: Duration,
}

impl KafkaLeaseOptions {
    /// With these brokers and every default.
    pub fn new(kafka: KafkaOptions) -> Self {
        Self {
            kafka,
            topic: DEFAULT_TOPIC.into(),
            group: DEFAULT_GROUP.into(),
            heartbeat: Duration::from_secs(3),
            session_timeout: Duration::from_secs(30),
            replication_factor: None,
            join_timeout: Duration::from_secs(5),
        }
    }

    /// Reads `kafka://user:password@b1:9092,b2:9092/topic?group=…&heartbeat=3s&session-timeout=30s&replication-factor=3`.
    ///
    /// Also `join-timeout`, and the common options of [`KafkaOptions::from_url`].
    pub fn from_url(text: &str) -> Result<Self, StoreError> {
        let url = KafkaUrl::parse(text)?;
        let mut options = Self::new(url.options);
        if let Some(topic) = url.topic {
            options.topic = topic;
        }
        for (key, value) in &url.rest {
            match key.as_str() {
                "group" => options.group = value.clone(),
                "heartbeat" => options.heartbeat = duration(key, value)?,
                "session-timeout" => options.session_timeout = duration(key, value)?,
                "join-timeout" => options.join_timeout = duration(key, value)?,
                "replication-factor" => match value.parse::<i32>() {
                    Ok(factor) => options.replication_factor = Some(factor),
                    Err(_) => return refuse("replication-factor in the Kafka URL is no whole number"),
                },
                _ => return refuse(unknown_option(OWN)),
            }
        }
        options.validate()?;
        Ok(options)
    }

    /// Checks every field, and every pair that must fit together.
    pub fn validate(&self) -> Result<(), StoreError> {
        self.kafka.validate()?;
        check_topic("topic", self.topic.clone())?;
        if self.group.is_empty() || self.group.len() > 200 || self.group.chars().any(char::is_control) {
            return refuse("group is empty, longer than 200 bytes, or holds control characters");
        }
        let Self { heartbeat, session_timeout, .. } = self;
        if *heartbeat < HEARTBEAT_MIN || *session_timeout > SESSION_MAX {
            return refuse(format!(
                "heartbeat {heartbeat:?} is below {HEARTBEAT_MIN:?}, or session_timeout {session_timeout:?} is above \
                 {SESSION_MAX:?}"
            ));
        }
        if heartbeat.saturating_mul(3) > *session_timeout {
            return refuse(format!(
                "session_timeout {session_timeout:?} is below three times heartbeat {heartbeat:?}: two lost heartbeats \
                 would cost the lease"
            ));
        }
        if self.join_timeout < Duration::from_millis(100) || self.join_timeout > Duration::from_secs(300) {
            return refuse(format!("join_timeout {:?} is not between 100 ms and 300 s", self.join_timeout));
        }
        if self.replication_factor.is_some_and(|factor| !(1..=1000).contains(&factor)) {
            return refuse("replication_factor is not between 1 and 1000");
        }
        Ok(())
    }

    /// Checks that a holder stops believing in its grant before the coordinator puts it out of the group.
    pub(crate) fn check_ttl(&self, ttl: Duration) -> Result<(), StoreError> {
        let limit = self.longest_ttl();
        if ttl > limit {
            return refuse(format!(
                "the lease's ttl {ttl:?} is above {limit:?}, which is session_timeout {:?} less a tenth: a holder must \
                 have stopped before the coordinator gives its place to another; choose a shorter ttl or a longer \
                 session_timeout",
                self.session_timeout
            ));
        }
        Ok(())
    }

    /// The longest ttl that a claim may have: the session timeout less a margin for clocks that run apart.
    pub(crate) fn longest_ttl(&self) -> Duration {
        self.session_timeout - self.session_timeout / 10
    }

    /// The group in which this lease is held. Names are data: two that differ in any byte are two groups.
    pub(crate) fn group_of(&self, lease: &LeaseName) -> String {
        format!("{}-{lease}", self.group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_says_everything() {
        let options = KafkaLeaseOptions::from_url(
            "kafka://b1:1,b2:2/t?group=g&heartbeat=1s&session-timeout=10s&replication-factor=3&join-timeout=7s",
        )
        .unwrap();
        assert_eq!((options.topic.as_str(), options.group.as_str()), ("t", "g"));
        assert_eq!(
            (options.heartbeat, options.session_timeout),
            (Duration::from_secs(1), Duration::from_secs(10))
        );
        assert_eq!((options.replication_factor, options.join_timeout), (Some(3), Duration::from_secs(7)));
        let defaults = KafkaLeaseOptions::from_url("kafka://b1").unwrap();
        assert_eq!(
            (defaults.topic.as_str(), defaults.group.as_str()),
            ("__tenure_exclusive", "tenure-exclusive")
        );
        assert_eq!(
            (defaults.heartbeat, defaults.session_timeout),
            (Duration::from_secs(3), Duration::from_secs(30))
        );
        assert_eq!(defaults.replication_factor, None);
    }

    #[test]
    fn what_does_not_fit_together_is_refused_and_both_fields_are_named() {
        let refused = |url: &str| KafkaLeaseOptions::from_url(url).expect_err(url).to_string();
        let both = refused("kafka://h?heartbeat=4s&session-timeout=11s");
        assert!(both.contains("heartbeat 4s") && both.contains("session_timeout 11s"), "{both}");
        assert!(KafkaLeaseOptions::from_url("kafka://h?heartbeat=4s&session-timeout=12s").is_ok());
        for bad in [
            "heartbeat=0s",
            "session-timeout=31m",
            "replication-factor=0",
            "group=",
            "nonsense=1",
            "heartbeat=x",
        ] {
            refused(&format!("kafka://h?{bad}"));
        }
        let options = KafkaLeaseOptions::from_url("kafka://h").unwrap();
        assert!(options.check_ttl(Duration::from_secs(27)).is_ok());
        let error = options.check_ttl(Duration::from_secs(28)).unwrap_err().to_string();
        assert!(error.contains("ttl 28s") && error.contains("session_timeout 30s"), "{error}");
    }

    #[test]
    fn a_stray_question_mark_in_a_password_is_not_repeated() {
        let error = KafkaLeaseOptions::from_url("kafka://u:1?c4nary@h/t").unwrap_err();
        assert!(!format!("{error} {error:?}").contains("c4nary"), "{error}");
    }
}
