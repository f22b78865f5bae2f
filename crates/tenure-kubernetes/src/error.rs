//! What went wrong, in words that say what to do.

use std::error::Error;

use kube::core::Status;
use tenure_core::StoreError;

/// The most that is repeated of what a server said.
const SAID_MAX: usize = 300;

/// What was asked of the API: the verb as RBAC knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Get,
    Create,
    Update,
    Watch,
}

impl Verb {
    fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Create => "create",
            Self::Update => "update",
            Self::Watch => "watch",
        }
    }
}

/// The chain of an error's causes in one line.
pub(crate) fn described(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(deeper) = cause {
        let said = deeper.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        cause = deeper.source();
    }
    shortened(&text)
}

/// The error for a request that the API, or the way to it, did not answer as hoped.
pub(crate) fn failed(store: &str, namespace: &str, verb: Verb, error: &kube::Error) -> StoreError {
    let store = store.to_owned();
    match error {
        kube::Error::Api(status) => answered(store, namespace, verb, status),
        kube::Error::SerdeError(_) => StoreError::Failed {
            store,
            message: format!("the answer to {} is no Lease: {}", verb.name(), described(error)),
            source: None,
        },
        other => StoreError::Unreachable { store, message: format!("{}: {}", verb.name(), described(other)) },
    }
}

/// The error for a status that says neither yes nor no.
pub(crate) fn answered(store: String, namespace: &str, verb: Verb, status: &Status) -> StoreError {
    let said = shortened(&status.message);
    let verb = verb.name();
    match status.code {
        401 => StoreError::Refused {
            store,
            message: format!("it does not know who we are (401, {said}); renew the token or the kubeconfig"),
        },
        403 => StoreError::Refused {
            store,
            message: format!(
                "the verb `{verb}` on Leases is not allowed (403, {said}); give the service account a Role in namespace \
                 {namespace} with the rule apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, create, \
                 update, watch], and a RoleBinding (docs/kubernetes/rbac.yaml)"
            ),
        },
        404 => StoreError::Refused {
            store,
            message: format!("`{verb}` found no namespace {namespace} or no API for Leases (404, {said})"),
        },
        409 => StoreError::Busy { store, message: format!("`{verb}` met another writer (409, {said})") },
        429 => StoreError::Busy { store, message: format!("`{verb}` was put off (429, {said})") },
        code @ (400 | 405 | 413 | 422) => {
            StoreError::Refused { store, message: format!("`{verb}` was not accepted ({code}, {said})") }
        }
        code => {
            StoreError::Unreachable { store, message: format!("`{verb}` was answered with {code}: {said}") }
        }
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SAID_MAX) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(code: u16, verb: Verb) -> StoreError {
        let status = Status { code, message: "as the server says".into(), ..Status::default() };
        failed("kubernetes://shop", "shop", verb, &kube::Error::Api(Box::new(status)))
    }

    #[test]
    fn a_missing_right_names_the_verb_and_the_rule() {
        for verb in [Verb::Get, Verb::Create, Verb::Update, Verb::Watch] {
            let error = error(403, verb);
            let said = error.to_string();
            assert!(!error.is_transient(), "{said}");
            for part in [verb.name(), "coordination.k8s.io", "leases", "shop", "RoleBinding"] {
                assert!(said.contains(part), "{part} is missing in: {said}");
            }
        }
    }

    #[test]
    fn what_may_pass_is_told_from_what_will_not() {
        for code in [409, 429, 500, 502, 503, 504] {
            assert!(error(code, Verb::Update).is_transient(), "{code}");
        }
        for code in [400, 401, 403, 404, 422] {
            assert!(!error(code, Verb::Update).is_transient(), "{code}");
        }
    }

    #[test]
    fn no_server_can_flood_the_log() {
        let status = Status { code: 500, message: "é".repeat(100_000), ..Status::default() };
        let error = failed("k", "n", Verb::Get, &kube::Error::Api(Box::new(status)));
        assert!(error.to_string().chars().count() < 400);
    }
}
