//! The exclusive node, on the client's own mock of a cluster and, where `TENURE_TEST_KAFKA_URL` names one, on a real one.

mod conformance;
mod faults;
mod handover;
mod office;
mod place;
mod processes;
mod topic;
