//! From a delivery report to a verdict.

use rdkafka::types::RDKafkaErrorCode as Code;

/// What a failed record comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// It was never sent, because of another record.
    Unsent,
    /// The broker will never take it; or one that shared its request.
    Refused,
    /// It may pass, and what to do if it does not.
    MayPass(&'static str),
}

pub(super) fn meaning(code: Code) -> Meaning {
    match code {
        Code::PurgeQueue | Code::Fatal | Code::GaplessGuarantee => Meaning::Unsent,
        Code::MessageSizeTooLarge
        | Code::InvalidMessageSize
        | Code::InvalidRecord
        | Code::InvalidDifferentRecord
        | Code::InvalidTimestamp
        | Code::PolicyViolation
        | Code::UnsupportedForMessageFormat => Meaning::Refused,
        Code::UnknownTopic | Code::UnknownTopicOrPartition | Code::UnknownPartition => {
            Meaning::MayPass("create the topic, or let the brokers do so")
        }
        Code::TopicAuthorizationFailed | Code::ClusterAuthorizationFailed => {
            Meaning::MayPass("let this user write to the topic (and write idempotently)")
        }
        Code::SaslAuthenticationFailed | Code::Authentication => {
            Meaning::MayPass("check user and password of the URL")
        }
        Code::NotEnoughReplicas | Code::NotEnoughReplicasAfterAppend => {
            Meaning::MayPass("see to the replicas: fewer are in sync than the topic asks for")
        }
        Code::QueueFull => Meaning::MayPass("the client's queue is full; lower the relay's --concurrency"),
        Code::PurgeInflight | Code::MessageTimedOut | Code::AllBrokersDown | Code::BrokerTransportFailure => {
            Meaning::MayPass("see whether the brokers can be reached")
        }
        _ => Meaning::MayPass("it is tried again"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_will_never_be_taken_is_refused() {
        assert_eq!(meaning(Code::MessageSizeTooLarge), Meaning::Refused);
        assert_eq!(meaning(Code::InvalidRecord), Meaning::Refused);
        assert_eq!(meaning(Code::PurgeQueue), Meaning::Unsent);
        for code in [Code::NotEnoughReplicas, Code::PurgeInflight, Code::UnknownTopic, Code::Unknown] {
            assert!(matches!(meaning(code), Meaning::MayPass(_)), "{code:?}");
        }
    }
}
