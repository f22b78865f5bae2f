//! From the client's errors to the store's: what can pass by itself, and what a person must see to.

use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use tenure_core::StoreError;

/// What is told of an error of the client while `doing` something.
pub(crate) fn explain(store: &str, doing: &str, error: &KafkaError) -> StoreError {
    let (store, message) = (store.to_owned(), format!("{doing}: {error}"));
    match error.rdkafka_error_code() {
        Some(code) => classify(store, message, code),
        None => match error {
            KafkaError::ClientConfig(_, _, name, _) => {
                // The value is not repeated: it may be a password.
                StoreError::Refused { store, message: format!("{doing}: the property {name} is refused") }
            }
            KafkaError::ClientCreation(_) => StoreError::Refused { store, message },
            _ => StoreError::Failed { store, message, source: None },
        },
    }
}

/// The same with what the client complained of last. The call itself only knows that no broker answered; why, stands there.
pub(crate) fn explain_heard(
    store: &str,
    doing: &str,
    error: &KafkaError,
    heard: Option<Complaint>,
) -> StoreError {
    let Some(Complaint { code, reason }) = heard else { return explain(store, doing, error) };
    let code = if is_about_who(code) { code } else { error.rdkafka_error_code().unwrap_or(code) };
    classify(store.to_owned(), format!("{doing}: {error} ({reason})"), code)
}

/// The longest complaint that is kept, in characters.
const COMPLAINT_MAX: usize = 300;

/// What a client complained of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Complaint {
    code: RDKafkaErrorCode,
    reason: String,
}

impl Complaint {
    /// Keeps what says more: why a broker does not answer, before that none does; that a password is wrong, before all.
    pub(crate) fn keep(last: &mut Option<Self>, error: &KafkaError, reason: &str) {
        let Some(code) = error.rdkafka_error_code() else { return };
        let says_less = code == RDKafkaErrorCode::AllBrokersDown
            || last.as_ref().is_some_and(|last| is_about_who(last.code) && !is_about_who(code));
        if last.is_some() && says_less {
            return;
        }
        let plain = reason.chars().map(|c| if c.is_control() { ' ' } else { c });
        *last = Some(Self { code, reason: plain.take(COMPLAINT_MAX).collect() });
    }
}

/// Whether the broker has refused us, and not only not answered.
fn is_about_who(code: RDKafkaErrorCode) -> bool {
    matches!(
        code,
        RDKafkaErrorCode::Authentication
            | RDKafkaErrorCode::SaslAuthenticationFailed
            | RDKafkaErrorCode::UnsupportedSASLMechanism
            | RDKafkaErrorCode::SSL
    )
}

/// What is told of an answer of a broker while `doing` something.
pub(crate) fn explain_code(store: &str, doing: &str, code: RDKafkaErrorCode) -> StoreError {
    classify(store.to_owned(), format!("{doing}: {code}"), code)
}

fn classify(store: String, message: String, code: RDKafkaErrorCode) -> StoreError {
    use RDKafkaErrorCode as Code;
    match code {
        Code::Authentication
        | Code::SaslAuthenticationFailed
        | Code::UnsupportedSASLMechanism
        | Code::SSL
        | Code::TopicAuthorizationFailed
        | Code::GroupAuthorizationFailed
        | Code::ClusterAuthorizationFailed
        | Code::InvalidReplicationFactor
        | Code::PolicyViolation
        | Code::InvalidTopic => StoreError::Refused { store, message },
        Code::InvalidSessionTimeout => StoreError::Refused {
            store,
            message: format!(
                "{message}; session_timeout is outside the brokers' group.min.session.timeout.ms and \
                 group.max.session.timeout.ms"
            ),
        },
        Code::InconsistentGroupProtocol => StoreError::Refused {
            store,
            message: format!("{message}; another kind of program is in the group: choose another group"),
        },
        Code::BrokerTransportFailure
        | Code::AllBrokersDown
        | Code::OperationTimedOut
        | Code::MessageTimedOut
        | Code::RequestTimedOut
        | Code::Resolve
        | Code::WaitingForCoordinator => StoreError::Unreachable { store, message },
        _ => StoreError::Failed { store, message, source: None },
    }
}

/// Whether an event of a member's consumer means that it will never be given a partition as things are.
pub(crate) fn ends_membership(error: &KafkaError) -> bool {
    use RDKafkaErrorCode as Code;
    matches!(error, KafkaError::MessageConsumptionFatal(_))
        || matches!(
            error.rdkafka_error_code(),
            Some(
                Code::GroupAuthorizationFailed
                    | Code::InconsistentGroupProtocol
                    | Code::InvalidSessionTimeout
                    | Code::InvalidGroupId
                    | Code::Authentication
                    | Code::SaslAuthenticationFailed
            )
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn why_nobody_answers_is_told_and_a_wrong_password_is_no_outage() {
        use RDKafkaErrorCode as Code;
        let heard = |all: &[(Code, &str)]| {
            let mut last = None;
            all.iter()
                .for_each(|(code, reason)| Complaint::keep(&mut last, &KafkaError::Global(*code), reason));
            explain_heard("kafka", "looking", &KafkaError::MetadataFetch(Code::BrokerTransportFailure), last)
        };
        let down = (Code::AllBrokersDown, "1/1 brokers are down");
        let refused =
            heard(&[(Code::Authentication, "SASL failed"), (Code::BrokerTransportFailure, "x"), down]);
        assert!(matches!(&refused, StoreError::Refused { message, .. } if message.contains("(SASL failed)")));
        let away = heard(&[(Code::BrokerTransportFailure, "connection\nrefused"), down]);
        let told = |error: &StoreError| error.to_string();
        assert!(
            matches!(away, StoreError::Unreachable { .. }) && told(&away).contains("(connection refused)")
        );
        assert!(told(&heard(&[down])).contains("brokers are down"));
        assert!(matches!(heard(&[]), StoreError::Unreachable { .. }));
    }
}
