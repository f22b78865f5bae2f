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

/// What is told of an answer of a broker while `doing` something.
pub(crate) fn explain_code(store: &str, doing: &str, code: RDKafkaErrorCode) -> StoreError {
    classify(store.to_owned(), format!("{doing}: {code}"), code)
}

fn classify(store: String, message: String, code: RDKafkaErrorCode) -> StoreError {
    use RDKafkaErrorCode as Code;
    match code {
        Code::Authentication
        | Code::SaslAuthenticationFailed
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
