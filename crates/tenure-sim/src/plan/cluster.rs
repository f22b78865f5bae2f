//! What a seed decides about a cluster: its nodes, its daemons and how they behave, and what befalls them.

use std::time::Duration;

use fastrand::Rng;
use tenure_core::cluster::{ClusterSettings, DaemonName, DaemonSpec, Group, Labels};
use tenure_core::lease::LeaseSettings;

use super::NodePlan;
use crate::faults::Climate;

/// One cluster; chances in a thousand.
#[derive(Debug, Clone)]
pub(crate) struct ClusterPlan {
    pub(crate) seed: u64,
    pub(crate) settings: ClusterSettings,
    pub(crate) nodes: Vec<MemberPlan>,
    /// What is declared before the world begins.
    pub(crate) daemons: Vec<DaemonSpec>,
    pub(crate) manners: Manners,
    pub(crate) climate: Climate,
    /// The blows of the storm; `None`: there are none.
    pub(crate) trouble: Option<ClusterTrouble>,
    /// The longest pause between two deeds of an operator; `None`: nobody comes.
    pub(crate) operators: Option<Operators>,
    /// How long faults last.
    pub(crate) storm: Duration,
}

/// One node before it starts.
#[derive(Debug, Clone)]
pub(crate) struct MemberPlan {
    /// Its clock and its patience.
    pub(crate) machine: NodePlan,
    pub(crate) leads: bool,
    pub(crate) labels: Labels,
    pub(crate) capacity: u32,
    pub(crate) families: Vec<&'static str>,
    /// Into how many parts it says that `part` is divided, each time it registers.
    pub(crate) declares: Option<u32>,
}

/// How daemons behave.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manners {
    /// Ends as soon as it was started.
    pub(crate) fails: u32,
    /// Ends by itself after a while.
    pub(crate) panics: u32,
    /// Takes long to stop.
    pub(crate) slow: u32,
    /// Does not stop until it is cut off.
    pub(crate) hangs: u32,
}

impl Manners {
    /// All do as they are told.
    pub(crate) const GOOD: Self = Self { fails: 0, panics: 0, slow: 0, hangs: 0 };
}

/// How often blows fall, and which.
#[derive(Debug, Clone)]
pub(crate) struct ClusterTrouble {
    pub(crate) longest_peace: Duration,
    pub(crate) weights: [u32; BLOWS],
    /// How often one falls on the leader.
    pub(crate) on_leader: u32,
}

/// How many kinds of blows there are.
pub(crate) const BLOWS: usize = 10;

/// What operators do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operators {
    pub(crate) longest_pause: Duration,
    /// How often they change into how many parts `part` is divided.
    pub(crate) divide: u32,
}

impl Operators {
    fn swarm(divided: bool, rng: &mut Rng) -> Option<Self> {
        let millis = Duration::from_millis;
        match rng.u32(0..4) {
            0 => None,
            // Someone cannot make up their mind: what was ordered for one layout arrives when it is that of the day again.
            1 if divided => Some(Self { longest_pause: millis(rng.u64(1500..5000)), divide: 900 }),
            _ => Some(Self {
                longest_pause: millis(rng.u64(800..12_000)),
                divide: if divided { rng.u32(0..500) } else { 0 },
            }),
        }
    }
}

/// The parts of what is divided.
pub(crate) fn parts(layout: u32) -> Vec<DaemonSpec> {
    let group = || Group { name: "part".to_owned(), layout };
    (0..layout)
        .map(|index| DaemonSpec::new(daemon(format!("part/{index}-of-{layout}"))).in_group(group()))
        .collect()
}

/// A daemon that stands for itself.
pub(crate) fn job(number: u64) -> DaemonSpec {
    DaemonSpec::new(daemon(format!("job/{number}")))
}

fn daemon(name: String) -> DaemonName {
    DaemonName::new(name)
        .unwrap_or_else(|error| unreachable!("the simulator's own names are valid: {error:?}"))
}

impl ClusterPlan {
    /// A cluster in chaos.
    pub(crate) fn chaos(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed ^ 0xc105_7e12);
        let settings = settings(&mut rng);
        let count = rng.usize(3..=6);
        let divided = rng.u32(0..3) > 0;
        let deploy = divided && rng.u32(0..4) == 0;
        let nodes = (0..count)
            .map(|index| {
                let mut member = MemberPlan::new(&settings, &mut rng);
                if index > 1 {
                    member.leads = rng.u32(0..4) > 0;
                    member.capacity = rng.u32(1..=2);
                    match rng.u32(0..6) {
                        0 => member.families = vec!["job"],
                        1 => member.families = vec!["part"],
                        _ => {}
                    }
                }
                // Often there is but one, so that what must be there has nowhere else to go.
                if rng.u32(0..3) == 0 {
                    member.labels.0.insert("zone".to_owned(), "a".to_owned());
                }
                if deploy {
                    member.declares = Some(if rng.bool() { 4 } else { 6 });
                }
                member
            })
            .collect();
        let mut daemons: Vec<DaemonSpec> = (0..rng.u64(2..=7)).map(job).collect();
        for spec in &mut daemons {
            spec.weight = rng.u32(1..=3);
            if rng.u32(0..4) == 0 {
                *spec = spec.clone().on("zone", "a");
            }
        }
        if rng.u32(0..4) == 0 {
            daemons.push(DaemonSpec::new(daemon("odd/0".to_owned())));
        }
        if divided {
            daemons.extend(parts(4));
        }
        let mut chance = |most: u32| if rng.bool() { rng.u32(0..=most) } else { 0 };
        let manners =
            Manners { fails: chance(100), panics: chance(100), slow: chance(300), hangs: chance(200) };
        let plan = Self {
            seed,
            settings,
            nodes,
            daemons,
            manners,
            climate: Climate::swarm(&mut rng),
            trouble: Some(ClusterTrouble::swarm(&mut rng)),
            operators: Operators::swarm(divided, &mut rng),
            storm: Duration::from_secs(rng.u64(30..80)),
        };
        if rng.u32(0..8) == 0 { plan.of_blind_nodes() } else { plan }
    }

    /// The same with nodes that go on living and see nothing for long: what they run is taken from them and given back
    /// before they look again.
    fn of_blind_nodes(mut self) -> Self {
        self.settings.drain = Duration::from_secs(3);
        self.settings.look = Duration::from_secs(1);
        self.settings.acknowledge = Duration::from_secs(10);
        self.climate = Climate::CLEAR;
        self.operators = Some(Operators { longest_pause: Duration::from_secs(3), divide: 0 });
        let weights = [1, 0, 0, 0, 0, 0, 8, 0, 0, 0];
        self.trouble = self.trouble.map(|_| ClusterTrouble {
            weights,
            longest_peace: Duration::from_secs(8),
            on_leader: 200,
        });
        self
    }

    /// A cluster of `count` equal nodes in which nothing goes wrong by itself.
    pub(crate) fn calm(seed: u64, count: usize, daemons: Vec<DaemonSpec>) -> Self {
        let mut rng = Rng::with_seed(seed);
        let settings = ClusterSettings { settle: Duration::from_secs(5), ..ClusterSettings::default() };
        Self {
            seed,
            nodes: (0..count).map(|_| MemberPlan::new(&settings, &mut rng)).collect(),
            settings,
            daemons,
            manners: Manners::GOOD,
            climate: Climate::CLEAR,
            trouble: None,
            operators: None,
            storm: Duration::ZERO,
        }
    }
}

impl MemberPlan {
    fn new(settings: &ClusterSettings, rng: &mut Rng) -> Self {
        // The drift that both leases of a node bear.
        let membership = settings.membership();
        let tighter = |a: &LeaseSettings, b: &LeaseSettings| {
            let of = super::drift_ppm_max;
            if of(a) <= of(b) { a.clone() } else { b.clone() }
        };
        Self {
            machine: NodePlan::new(tighter(&membership, &settings.election), rng),
            leads: true,
            labels: Labels::default(),
            capacity: 1,
            families: vec!["job", "part"],
            declares: None,
        }
    }
}

impl ClusterTrouble {
    fn swarm(rng: &mut Rng) -> Self {
        let mut weights = [4, 3, 4, 3, 1, 2, 4, 2, 2, 1];
        for weight in &mut weights {
            if rng.bool() {
                *weight = 0;
            }
        }
        Self {
            weights,
            longest_peace: Duration::from_millis(rng.u64(2000..12_000)),
            on_leader: rng.u32(100..600),
        }
    }
}

/// The defaults, or brisker ones: more happens in the same time.
fn settings(rng: &mut Rng) -> ClusterSettings {
    let mut settings = ClusterSettings::default();
    if rng.u32(0..4) > 0 {
        let mut seconds = |from: u64, to: u64| Duration::from_millis(rng.u64(from * 1000..to * 1000));
        settings.acknowledge = seconds(3, 12);
        settings.drain = seconds(3, 12);
        settings.settle = seconds(2, 10);
        settings.look = settings.look.min(settings.drain / 3);
        settings.cool_down = seconds(2, 15);
        settings.moves_at_once = rng.u32(1..=6);
        settings.uneven = rng.u32(0..=40);
        settings.failures = rng.u32(1..=3);
    }
    if rng.u32(0..4) == 0 {
        settings.presence = None;
        settings.election.presence = None;
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cluster_has_valid_settings_and_daemons() {
        for seed in 0..500 {
            let plan = ClusterPlan::chaos(seed);
            plan.settings.validate().unwrap();
            assert!(plan.daemons.iter().all(|spec| spec.check().is_ok()));
        }
    }
}
