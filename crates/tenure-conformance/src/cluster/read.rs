//! Reading daemons: by name, by node, and by what changed since.

use tenure_core::cluster::{Cursor, Daemon, DaemonFilter, DaemonSpec, Revision};

use super::actor::{ALL, Actor, Scene, all_taken, daemon, patient, spec};
use super::backend::ClusterBackend;

fn names(rows: &[Daemon]) -> Vec<&str> {
    rows.iter().map(|row| row.name().as_str()).collect()
}

async fn filtered(scene: &Scene<'_>, filter: DaemonFilter) -> Vec<Daemon> {
    scene.lea.cluster.daemons(&filter).await.expect("daemons")
}

/// A prefix is bytes: nothing in it stands for anything else, and upper case is not lower case.
pub async fn s20_a_prefix_is_taken_byte_by_byte(backend: &dyn ClusterBackend) {
    let all = [
        "A/1",
        "a%b/1",
        "a%b/2",
        "a/1",
        "a\\b",
        "a_b/1",
        "axb/1",
        "a{1}*?[x]",
        "ä/1",
        "ä/2",
        "\u{10ffff}",
        "\u{10ffff}\u{10ffff}z",
    ];
    let scene = Scene::with(backend, &all).await;
    let mut sorted = all;
    sorted.sort_unstable();
    let after = |name: &str| DaemonFilter { after: Some(daemon(name)), ..DaemonFilter::beginning("") };
    assert_eq!(names(&scene.daemons().await), sorted, "byte by byte");
    for prefix in [
        "a%",
        "a_",
        "a",
        "A",
        "a\\",
        "ä",
        "ä/",
        "%",
        "_",
        "a%b/1",
        "\u{10ffff}",
        "a{1}*",
        "a[",
        "'",
        "zz",
        "a/1 ",
    ] {
        let rows = filtered(&scene, DaemonFilter::beginning(prefix)).await;
        let wanted: Vec<&str> = sorted.iter().copied().filter(|name| name.starts_with(prefix)).collect();
        assert_eq!(names(&rows), wanted, "{prefix:?}");
    }
    for name in ["A/1", "a%b/1", "a", "b", "ä/1", "\u{10ffff}"] {
        let wanted: Vec<&str> = sorted.iter().copied().filter(|other| *other > name).collect();
        assert_eq!(names(&filtered(&scene, after(name)).await), wanted, "after {name:?}");
    }
    let both = DaemonFilter { after: Some(daemon("a%b/1")), limit: 2, ..DaemonFilter::beginning("a") };
    assert_eq!(names(&filtered(&scene, both).await), ["a%b/2", "a/1"]);
    assert_eq!(filtered(&scene, DaemonFilter { limit: 0, ..DaemonFilter::beginning("") }).await, []);
}

/// The daemons of a node are those that are there, and those that come next.
pub async fn a_node_sees_what_it_has_and_what_comes(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &["work/a", "work/b", "work/c", "work/d"]).await;
    scene.running("work/a", &scene.ann).await;
    scene.assigned("work/b", &scene.bob).await;
    scene.running("work/c", &scene.bob).await;
    scene.revoked("work/c", Some(&scene.ann), patient()).await;
    let of = |node: &Actor| DaemonFilter::of_node(node.name().clone());
    let rows = filtered(&scene, of(&scene.ann)).await;
    assert_eq!(rows, [scene.row("work/a").await, scene.row("work/c").await]);
    assert_eq!(names(&filtered(&scene, of(&scene.bob)).await), ["work/b", "work/c"]);
    let paged = DaemonFilter { limit: 1, after: Some(daemon("work/b")), ..of(&scene.bob) };
    assert_eq!(names(&filtered(&scene, paged).await), ["work/c"]);
    let mixed = DaemonFilter { prefix: Some("work/a".to_owned()), ..of(&scene.ann) };
    assert_eq!(names(&filtered(&scene, mixed).await), ["work/a"]);
    all_taken(scene.bob.confirms(&scene.row("work/c").await).await);
    assert_eq!(names(&filtered(&scene, of(&scene.bob)).await), ["work/b"]);
    scene.tells_one_story().await;
}

/// Reads all that changed after a place, in pages of this size, and gives the place after it.
async fn pages(scene: &Scene<'_>, mut from: Cursor, size: u32) -> (Vec<Daemon>, Cursor) {
    let mut rows = Vec::new();
    loop {
        let page = scene.lea.cluster.daemons_after(&from, size).await.expect("a page");
        assert!(page.len() <= size as usize);
        let Some(last) = page.last() else { return (rows, from) };
        from = Cursor { revision: last.revision, daemon: Some(last.name().clone()) };
        rows.extend(page);
        assert!(rows.len() < ALL as usize, "a reader comes to an end");
    }
}

/// Many rows of one revision are read page by page, each once, whatever the size of a page.
pub async fn s34_a_reader_by_revision_misses_nothing(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &[]).await;
    let specs =
        |from: u32, to: u32| (from..to).map(|n| spec(&format!("work/{n:03}"))).collect::<Vec<DaemonSpec>>();
    scene.lea.declares(specs(40, 60)).await;
    scene.lea.declares(specs(0, 40)).await;
    let mut by_revision = scene.daemons().await;
    by_revision.sort_by_key(|row| (row.revision, row.name().clone()));
    for size in [1, 7, 20, 40, 60, 1_000] {
        let (rows, _) = pages(&scene, Cursor::default(), size).await;
        assert_eq!(names(&rows), names(&by_revision), "in pages of {size}");
    }
    let (_, end) = pages(&scene, Cursor::default(), 7).await;
    assert_eq!(end.revision, scene.revision().await);
    scene.assigned("work/050", &scene.ann).await;
    scene.assigned("work/010", &scene.ann).await;
    let (rows, end) = pages(&scene, end, 1).await;
    assert_eq!(names(&rows), ["work/050", "work/010"], "only what changed, in its order");
    let (rows, _) = pages(&scene, end, 10).await;
    assert_eq!(rows, []);
    let whole = Cursor { revision: scene.row("work/050").await.revision, daemon: None };
    assert_eq!(
        names(&pages(&scene, whole, 10).await.0),
        ["work/050", "work/010"],
        "before the first of a revision"
    );
    all_taken(scene.lea.retires(&["work/000"]).await);
    scene.removed("work/000").await;
    let (rows, _) = pages(&scene, Cursor::default(), 9).await;
    assert_eq!(rows.len(), 59, "what is gone for good is not there");
}

/// Each change has the next revision, and what changes nothing uses none up.
pub async fn revisions_rise_by_one_with_every_change(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &["work/a"]).await;
    let mut last = scene.revision().await;
    assert_eq!(last, Revision(3), "two nodes and a declaration");
    let mut next = async |what: &str| {
        let now = scene.revision().await;
        assert_eq!(now, Revision(last.0 + 1), "{what}");
        last = now;
    };
    let row = scene.assigned("work/a", &scene.ann).await;
    next("assigned").await;
    all_taken(scene.ann.acknowledges(&row).await);
    next("acknowledged").await;
    all_taken(scene.ann.acknowledges(&row).await);
    let refused = scene.lea.places(vec![Actor::assign(&row, &scene.bob), Actor::unassign(&row)]).await;
    assert!(matches!(&refused, tenure_core::cluster::Answer::Done(verdicts) if verdicts.len() == 2));
    scene.lea.declares(vec![spec("work/a")]).await;
    scene.revoked("work/a", Some(&scene.bob), patient()).await;
    next("told to stop, and nothing before it").await;
    all_taken(scene.ann.confirms(&row).await);
    next("stopped and assigned").await;
    all_taken(scene.ann.leaves().await);
    next("leaving").await;
    all_taken(scene.ann.departs().await);
    next("departed").await;
    scene.tells_one_story().await;
}
