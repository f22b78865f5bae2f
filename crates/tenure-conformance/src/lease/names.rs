//! Names: data, compared byte by byte. Whatever a person can type is a lease of its own.

use tenure_core::lease::{LEASE_NAME_MAX_BYTES, LeaseName, Release};

use super::player::{LONG, Player, named, node, unique};
use crate::backend::Backend;

/// Endings that a store may take for one another, or for something to run.
const ENDINGS: [&str; 40] = [
    "",
    " ",
    "  ",
    ".",
    "/",
    "..",
    "a",
    "A",
    "ä",
    "a\u{308}",
    "Ä",
    "é",
    "e\u{301}",
    "ß",
    "ss",
    "SS",
    "i",
    "I",
    "ı",
    "İ",
    "Ａ",
    "ﬁ",
    "fi",
    "東京",
    "👩‍🚀",
    "\u{200b}",
    "'",
    "''",
    "\"",
    "`",
    ";",
    "'; drop table tenure_leases; --",
    "%",
    "_",
    "\\",
    "\\'",
    "$1",
    "?",
    ":a",
    "{leases}",
];

/// Equal after folding case, after normalising, after trimming, after a wildcard: they are all different leases.
pub async fn s20_names_that_differ_in_any_byte_are_different_leases(backend: &dyn Backend) {
    let ann = Player::enter(backend, "ann").await;
    let tag = unique();
    let mut grants = Vec::new();
    for ending in ENDINGS {
        let grant = ann.takes(&named(&format!("{tag}{ending}")), LONG).await;
        assert!(backend.begins_with(grant.term), "{ending:?} was taken for another name");
        grants.push(grant);
    }
    // Ending one ends no other.
    for (released, grant) in grants.iter().enumerate() {
        assert_eq!(ann.releases(grant).await, Release::Released);
        for (number, other) in grants.iter().enumerate().skip(released.saturating_sub(1)).take(3) {
            let row = ann.row(&other.name).await;
            assert_eq!(row.name, other.name, "a name comes back byte by byte");
            assert_eq!(row.released_at.is_some(), number <= released, "{:?}", other.name);
        }
    }
}

/// `a` and `A`, seen by two nodes that hold one each.
pub async fn s20_upper_and_lower_case_are_held_by_different_nodes(backend: &dyn Backend) {
    let (ann, bob) = (Player::enter(backend, "ann").await, Player::enter(backend, "bob").await);
    let tag = unique();
    let (lower, upper) = (named(&format!("case-{tag}-a")), named(&format!("case-{tag}-A")));
    ann.takes(&lower, LONG).await;
    bob.takes(&upper, LONG).await;
    assert_eq!(bob.finds_held(&lower).await.node, ann.node);
    assert_eq!(ann.finds_held(&upper).await.node, bob.node);
}

/// The longest names there are, in bytes and in characters, are kept whole: not cut, not hashed onto each other.
pub async fn s20_the_longest_names_are_kept_whole(backend: &dyn Backend) {
    let ann = Player::enter(backend, "ann").await;
    for filler in ["x", "é", "東", "🚀"] {
        let tag = unique().to_string();
        let room = LEASE_NAME_MAX_BYTES - tag.len() - 8;
        let body = format!("{tag}{}", filler.repeat(room / filler.len()));
        let body = format!("{body}{}", "-".repeat(LEASE_NAME_MAX_BYTES - 1 - body.len()));
        for last in ["1", "2"] {
            let name = named(&format!("{body}{last}"));
            assert_eq!(name.as_str().len(), LEASE_NAME_MAX_BYTES);
            let grant = ann.takes(&name, LONG).await;
            assert!(backend.begins_with(grant.term), "{name} differs in its last byte");
            assert_eq!(ann.row(&name).await.name, name);
        }
    }
}

/// What is no name is refused by the type, the same before every store.
pub async fn s20_what_is_no_name_is_refused_before_the_store(_: &dyn Backend) {
    let long = "x".repeat(LEASE_NAME_MAX_BYTES + 1);
    let long_in_bytes = "é".repeat(LEASE_NAME_MAX_BYTES / 2 + 1);
    for bad in ["", "a\0b", "a\nb", "\u{7f}", "\u{85}", &long, &long_in_bytes] {
        assert!(LeaseName::new(bad).is_err(), "{bad:?} must be refused");
    }
}

/// What a node is called is data as well.
pub async fn s20_quotes_and_unicode_in_a_holders_texts_are_data(backend: &dyn Backend) {
    let store = backend.store().await;
    let odd = "o'brien \"\\; -- 東京 👩‍🚀 {leases} $1 ?";
    let player = Player { store, node: tenure_core::id::Node { machine: odd.into(), ..node(odd) } };
    let name = named(&format!("odd-holder-{}", unique()));
    let claim = tenure_core::lease::Claim { kind: Some(odd.into()), ..player.claim(&name, LONG) };
    player.takes_by(&claim).await;
    let row = player.row(&name).await;
    assert_eq!(row.node, player.node);
    assert_eq!(row.kind.as_deref(), Some(odd));
    assert_eq!(player.finds_held(&name).await.node, player.node);
}
