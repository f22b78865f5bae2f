//! What operators did, of all themes in one list.

use tenure_core::cluster::{DaemonName, DaemonSpec, Deadlines, Order, Steering};
use tenure_core::event::Position;
use tenure_core::observe::{Actor, AuditId, AuditLine, AuditPage, AuditSelection, Via};
use tenure_core::subscription::Rewind;

use super::backend::EventBackend;
use super::scribe::subscription;
use crate::lease::player::{LONG, Player, fresh};
use crate::outbox::desk::{Desk, id_of, message, only};

async fn audit(backend: &dyn EventBackend, selection: &AuditSelection) -> AuditPage {
    backend.operators().await.audit.audit(selection).await.expect("an audit")
}

fn newest(limit: u32) -> AuditSelection {
    AuditSelection { limit, ..AuditSelection::default() }
}

fn actions(lines: &[AuditLine]) -> Vec<&str> {
    lines.iter().map(|line| line.action.as_str()).collect()
}

/// Whatever an operator changes: one line each, with who, when, what, on what, and the request.
pub async fn every_change_of_an_operator_is_in_the_audit_newest_first(backend: &dyn EventBackend) {
    let (stores, desk) = (backend.operators().await, Desk::open(backend).await);
    assert_eq!(audit(backend, &newest(10)).await, AuditPage::default());
    let by = Actor::new("ann o'hara", Via::Dashboard).expect("a name").in_request(0x7f3a).to_string();
    let (retried, discarded, lease) = (message(1), message(2), fresh("held"));
    desk.buries(&retried, false).await;
    desk.buries(&discarded, false).await;
    let daemon = DaemonName::new("work/a").expect("a name");
    let (specs, deadlines) =
        (vec![DaemonSpec::new(daemon.clone())], Deadlines { acknowledge: LONG, drain: LONG });
    stores.cluster.apply(&Order::Declare { specs, deadlines }).await.expect("an answer");
    Player::enter(backend, "holder").await.takes(&lease, LONG).await;
    let from = desk.now().await;
    desk.retries(&only(&retried), &by, 5).await;
    desk.discards(&only(&discarded), &by, 5).await;
    let rewound = stores.checkpoints.rewind(&subscription("sub"), Position(0), &by).await.expect("a rewind");
    assert_eq!(rewound, Rewind::Moved);
    let order = Order::Steer { daemon, steering: Steering::Pause, by: by.clone(), deadlines };
    stores.cluster.apply(&order).await.expect("an answer");
    let _ = stores.leases.revoke(&lease, &by, true).await.expect("a release");
    stores.audit.note(&by, "job begun", "retry 7 messages", "of cause 'x'").await.expect("a note");
    let until = desk.now().await;
    // What changes nothing is not written down.
    desk.retries(&only(&discarded), &by, 5).await;

    let page = audit(backend, &newest(100)).await;
    assert_eq!(page.more_before, None);
    let lines = page.lines;
    assert_eq!(lines.len(), 6, "{lines:?}");
    let expected =
        ["job begun", "", "daemon paused", "subscription rewind", "outbox discard", "outbox retry"];
    for (line, action) in lines.iter().zip(expected) {
        assert_eq!(line.actor, by);
        assert!(line.at >= from && line.at <= until, "by the store's clock: {line:?}");
        assert!(action.is_empty() || line.action == action, "{line:?}");
    }
    assert!(lines.windows(2).all(|pair| pair[0].id > pair[1].id), "the newest first");
    let subjects: Vec<_> = lines.iter().map(|line| line.subject.clone()).collect();
    let (discarded, retried) = (id_of(&discarded).to_string(), id_of(&retried).to_string());
    assert_eq!(subjects, ["retry 7 messages", lease.as_str(), "work/a", "sub", &discarded, &retried]);
    assert_eq!(lines[0].detail, "of cause 'x'");
    assert!(lines[5].detail.contains("orders/OrderPlaced"), "{lines:?}");
}

/// Page by page to the first line, whatever is written meanwhile; and no more lines are looked at than was said.
pub async fn audit_pages_have_no_gaps(backend: &dyn EventBackend) {
    let log = backend.operators().await.audit;
    for number in 0..30 {
        let actor = if number % 10 == 0 { "ann" } else { "bob (dashboard)" };
        log.note(actor, "noted", &format!("n{number}"), "").await.expect("a note");
    }
    let all = audit(backend, &newest(100)).await.lines;
    assert_eq!(all.len(), 30);
    for (limit, steps) in [(7, 0), (1, 1), (30, 4), (29, 0)] {
        let (mut selection, mut found) = (AuditSelection { steps, ..newest(limit) }, Vec::new());
        for _ in 0..40 {
            let page = audit(backend, &selection).await;
            assert!(page.lines.len() <= limit as usize);
            found.extend(page.lines);
            selection.before = page.more_before;
            if selection.before.is_none() {
                break;
            }
            log.note("eve", "noted", "later", "").await.expect("a note");
        }
        assert_eq!(found.iter().filter(|line| line.actor != "eve").count(), 30, "{limit} {steps}");
        assert!(found.windows(2).all(|pair| pair[0].id > pair[1].id), "none twice");
    }
    // A filter that fits little is answered by short pages at a known cost.
    let before = Some(AuditId(all[0].id.0 + 1));
    let of_ann = AuditSelection { actor: Some("ann".into()), before, steps: 10, ..newest(10) };
    let page = audit(backend, &of_ann).await;
    assert!(page.lines.len() <= 1 && page.more_before.is_some(), "ten lines were looked at: {page:?}");
    let whole = AuditSelection { steps: 0, ..of_ann };
    assert_eq!(audit(backend, &whole).await.lines.len(), 3);
}

/// Filters are whole words, and nothing in them is a pattern or a statement.
pub async fn audit_filters_are_only_texts(backend: &dyn EventBackend) {
    let log = backend.operators().await.audit;
    let quoted = "' OR 1=1 --";
    for (actor, action, subject) in [
        ("ann", "a", "x"),
        ("ann (cli)", "a", "y"),
        ("anna", "b", "x"),
        (quoted, "%", "_"),
        ("Ann", "A", "X"),
    ] {
        log.note(actor, action, subject, "").await.expect("a note");
    }
    let find = async |actor: Option<&str>, action: Option<&str>, subject: Option<&str>| {
        let [actor, action, subject] = [actor, action, subject].map(|text| text.map(str::to_owned));
        let selection = AuditSelection { actor, action, subject, ..newest(10) };
        let mut found: Vec<_> =
            audit(backend, &selection).await.lines.into_iter().map(|line| line.actor).collect();
        found.reverse();
        found
    };
    assert_eq!(find(Some("ann"), None, None).await, ["ann", "ann (cli)"], "also with the way behind it");
    assert_eq!(find(Some("an"), None, None).await, [""; 0]);
    assert_eq!(find(None, Some("a"), None).await, ["ann", "ann (cli)"]);
    assert_eq!(find(None, Some("a"), Some("x")).await, ["ann"]);
    assert_eq!(find(None, None, Some("x")).await, ["ann", "anna"]);
    assert_eq!(find(Some(quoted), None, None).await, [quoted]);
    assert_eq!(find(None, Some("%"), None).await, [quoted]);
    assert_eq!(find(None, None, Some("_")).await, [quoted]);
    let long = "x".repeat(10_000);
    assert_eq!(find(Some(&long), None, None).await, [""; 0]);
    log.note(&long, &long, &long, &long).await.expect("what is too long is cut");
    let last = audit(backend, &newest(1)).await.lines;
    assert!(last[0].actor.starts_with("xxx") && last[0].actor.len() <= 2_000, "{}", last[0].actor.len());
    assert_eq!(actions(&last)[0].chars().next(), Some('x'));
}
