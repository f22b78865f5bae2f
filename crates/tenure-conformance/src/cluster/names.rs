//! Names are data: whatever bytes they have, they are kept, told apart, and never taken for anything else.

use tenure_core::cluster::{Agents, DaemonFilter, Labels, Member, Placement};
use tenure_core::lease::Cause;

use super::actor::{Actor, Scene, all_taken, daemon, part, patient, spec};
use super::backend::ClusterBackend;
use crate::lease::player::LONG;

/// Names that someone else would fold, trim, cut or run.
fn hostile() -> Vec<String> {
    let mut names: Vec<String> = [
        "o'brien",
        "\"quoted\"",
        "a;drop table tenure_nodes;--",
        "%",
        "_",
        "\\",
        "100%_\\'",
        "NaMe",
        "name",
        "NAME",
        "name ",
        " name",
        "name  ",
        "東京",
        "é",
        "e\u{301}",
        "ß",
        "ss",
        "🦀",
        "{}",
        "$1",
        "?1",
        ":x",
        "null",
        "a\u{a0}b",
        "İ",
        "ı",
        "\u{202e}",
        "\u{feff}",
    ]
    .iter()
    .map(|name| (*name).to_owned())
    .collect();
    names.push("x".repeat(153));
    names.push("ä".repeat(76));
    names.push(format!("{} ", "x".repeat(152)));
    names
}

/// Daemons whose names differ in any byte are different ones, with different leases.
pub async fn s20_daemons_that_differ_in_any_byte_are_different(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &[]).await;
    let names: Vec<String> = hostile().iter().map(|name| format!("work/{name}")).collect();
    scene.lea.declares(names.iter().map(|name| spec(name)).collect()).await;
    let mut sorted: Vec<&str> = names.iter().map(String::as_str).collect();
    sorted.sort_unstable();
    let rows = scene.daemons().await;
    assert_eq!(rows.iter().map(|row| row.name().as_str()).collect::<Vec<_>>(), sorted);
    let mut generations = Vec::new();
    for (number, name) in names.iter().enumerate() {
        let node = if number % 2 == 0 { &scene.ann } else { &scene.bob };
        let row = scene.running(name, node).await;
        assert_eq!((row.name().as_str(), row.node()), (name.as_str(), Some(node.name())));
        generations.push((name, row.generation));
    }
    for (name, generation) in generations {
        assert_eq!(scene.row(name).await.generation, generation, "{name:?}");
        assert_eq!(scene.causes(name).await, [Cause::Acquired], "{name:?}");
    }
    let retired: Vec<&str> = names.iter().map(String::as_str).step_by(2).collect();
    all_taken(scene.lea.retires(&retired).await);
    for name in &retired {
        all_taken(scene.ann.confirms(&scene.row(name).await).await);
        scene.removed(name).await;
    }
    assert_eq!(scene.daemons().await.len(), names.len() - retired.len());
    scene.tells_one_story().await;
}

/// And so are nodes; what they are labelled with and have code for is kept as it was said.
pub async fn s20_nodes_that_differ_in_any_byte_are_different(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &[]).await;
    let mut nodes = Vec::new();
    for name in hostile() {
        let node = Actor::enters(backend, &name, LONG).await;
        let label: String = name.chars().take(30).collect();
        let said = Member {
            labels: Labels([(label.clone(), label.clone())].into()),
            version: label.clone(),
            agents: Agents { names: [daemon(&name)].into(), families: [label].into() },
            ..node.member()
        };
        all_taken(node.registers(said.clone()).await);
        nodes.push((node, said));
    }
    let look = scene.look().await;
    assert_eq!(look.nodes.len(), nodes.len() + 2);
    assert!(look.nodes.is_sorted_by_key(|standing| standing.member.node.name.clone()), "byte by byte");
    for (node, said) in &nodes {
        let seen = &look.node(node.name()).expect("a node").member;
        let (joined_at, revision) = (seen.joined_at, seen.revision);
        assert_eq!(*seen, Member { joined_at, revision, ..said.clone() });
        assert!(look.node(node.name()).expect("a node").is_alive(look.now));
        let name = node.name().as_str();
        let labelled = said.labels.0.iter().fold(spec(name), |spec, (key, value)| spec.on(key, value));
        scene.lea.declares(vec![labelled.clone()]).await;
        assert_eq!(scene.running(name, node).await.spec, labelled);
        let of_node = scene.lea.cluster.daemons(&DaemonFilter::of_node(node.name().clone())).await;
        assert_eq!(of_node.expect("daemons").len(), 1, "{name:?}");
    }
    scene.tells_one_story().await;
}

/// Groups that differ in any byte are different things.
pub async fn s20_groups_that_differ_in_any_byte_are_different(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &[]).await;
    let groups = hostile();
    for (number, group) in groups.iter().enumerate() {
        let name = format!("work/{number}");
        scene.lea.declares(vec![part(&name, group, number as u32 + 1)]).await;
        assert_eq!(scene.running(&name, &scene.ann).await.spec.group.expect("a group").name, *group);
    }
    for row in scene.daemons().await {
        assert!(!row.retired, "{row:?}");
    }
    scene.tells_one_story().await;
}

/// What a person or a program writes as a reason is stored without what a database refuses, and read as it is.
pub async fn s20_every_reason_is_kept(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &["work/a", "work/b"]).await;
    let mut reasons = hostile();
    reasons.extend([
        "a\0b".to_owned(),
        "line\nbreak\ttab\r\u{1b}[31m\u{7f}".to_owned(),
        String::new(),
        "ä\0".repeat(2_000),
    ]);
    for reason in reasons {
        let explain = Placement::Explain { daemon: daemon("work/a"), reason: reason.clone() };
        all_taken(scene.lea.places(vec![explain]).await);
        let kept = scene.row("work/a").await.reason;
        let clean = reason.replace('\0', "\u{fffd}");
        assert!(
            clean.starts_with(&kept) && kept.len() <= 2_000 && (kept == clean || kept.len() > 1_990),
            "{kept:?}"
        );
        let mut placement = Actor::assign(&scene.row("work/b").await, &scene.ann);
        if let Placement::Assign { reason: why, .. } = &mut placement {
            why.clone_from(&reason);
        }
        all_taken(scene.lea.places(vec![placement]).await);
        let row = scene.row("work/b").await;
        assert_eq!(row.reason, kept);
        all_taken(scene.ann.acknowledges(&row).await);
        let mut revoke = Actor::revoke(&row, None);
        if let Placement::Revoke { reason: why, .. } = &mut revoke {
            why.clone_from(&reason);
        }
        all_taken(scene.lea.places_within(vec![revoke], patient()).await);
        assert_eq!(scene.row("work/b").await.reason, kept);
        all_taken(scene.ann.fails(&row, &reason, LONG).await);
        let failed = scene.row("work/b").await.reason;
        assert!(failed.starts_with("it failed on ann: ") && !failed.contains('\0') && failed.len() <= 2_100);
    }
    scene.tells_one_story().await;
}
