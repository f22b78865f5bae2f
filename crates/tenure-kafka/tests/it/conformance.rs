//! The suite that every backend runs, as far as it says something of a group: what it says of rows (a first term that is 1,
//! a grant that is claimed again or released over another store's handle, presence in a row) is not run here.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tenure_conformance::{Backend, suite};
use tenure_core::contract::LeaseStore;
use tenure_kafka::{KafkaLeaseOptions, KafkaLeases};

use crate::place::Place;

struct Cluster(KafkaLeaseOptions);

impl Cluster {
    /// The suite's grants last for ten minutes, and the session must outlast them.
    async fn start() -> Option<Self> {
        tenure_conformance::servers_may_be_missing();
        let mut place = Place::real()?;
        place.options.heartbeat = Duration::from_millis(100);
        place.options.session_timeout = Duration::from_secs(700);
        Some(Self(place.options))
    }
}

#[async_trait]
impl Backend for Cluster {
    async fn store(&self) -> Arc<dyn LeaseStore> {
        Arc::new(KafkaLeases::new(self.0.clone()).unwrap())
    }

    /// A member that is not renewed leaves by itself, and leaving takes a moment.
    fn short_ttl(&self) -> Duration {
        Duration::from_millis(800)
    }
}

macro_rules! cases {
    ($($case:ident)*) => {
        $(
            #[test]
            fn $case() {
                suite::run(stringify!($case), Cluster::start());
            }
        )*
    };
}

cases! {
    s11_a_lease_claimed_many_times_is_free_after_one_release
    s16_another_claim_of_the_same_node_finds_it_held
    s16_the_same_claim_after_a_release_gets_a_new_term
    s19_two_nodes_with_one_name_are_two
    s10_of_many_racing_for_an_expired_lease_one_is_granted
    s10_in_a_storm_no_term_is_given_twice
    s03_stale_renew_is_lost_and_changes_nothing
    s04_renewal_of_a_former_term_of_the_same_node_is_lost
    a_released_grant_cannot_be_renewed
    an_unknown_lease_cannot_be_renewed
    renewals_are_counted_anew_for_every_grant
    s04_release_of_a_former_term_of_the_same_node_changes_nothing
    s05_repeated_release_after_a_takeover_changes_nothing
    s05_release_after_expiry_and_takeover_changes_nothing
    a_release_may_be_repeated
    s25_a_released_lease_is_granted_at_once
    c07_a_lease_is_free_once_its_ttl_has_ended
    s12_a_lease_is_not_free_before_its_ttl_has_ended
    s12_times_in_the_row_are_the_stores
    s14_the_holders_ttl_decides_not_the_contenders
    an_expired_grant_cannot_be_renewed
    a_renewed_lease_outlives_its_first_ttl
    s15_terms_rise_over_releases
    s15_terms_rise_over_expiry
    s20_upper_and_lower_case_are_held_by_different_nodes
    s20_what_is_no_name_is_refused_before_the_store
    s20_quotes_and_unicode_in_a_holders_texts_are_data
    an_unknown_lease_has_no_row
    a05_the_row_says_who_holds_the_lease_and_since_when
    a08_a_release_stamps_the_row_and_keeps_it
    s26_after_a_total_restart_the_wait_ends_with_the_old_ttl
}
