//! What a node may say of itself.

use super::{Desk, Whole};
use crate::cluster::{DaemonSpec, Deadlines, Member, Refusal, node_lease};
use crate::id::NodeName;
use crate::lease::Term;

impl Desk {
    pub(super) fn register(
        &mut self,
        term: Term,
        member: &Member,
        declares: &[DaemonSpec],
        deadlines: Deadlines,
    ) -> Whole {
        member.check().map_err(|error| Refusal::Invalid(error.to_string()))?;
        let name = &member.node.name;
        self.under_its_lease(name, term)?;
        let known = self.nodes.get(name).filter(|known| known.term == term);
        let (joined_at, revision) = known.map_or((self.now, self.revision), |m| (m.joined_at, m.revision));
        let row = Member { term, joined_at, revision, ..member.clone() };
        if known != Some(&row) {
            self.nodes.insert(name.clone(), row);
            self.changed_nodes.insert(name.clone());
        }
        for refused in self.declare_all(declares, deadlines)? {
            refused?;
        }
        Ok(vec![Ok(())])
    }

    pub(super) fn leave(&mut self, name: &NodeName, term: Term) -> Whole {
        self.under_its_lease(name, term)?;
        let Some(member) = self.nodes.get_mut(name).filter(|member| member.term == term) else {
            return Err(Refusal::NoNode(name.clone()));
        };
        if !member.leaving {
            member.leaving = true;
            self.changed_nodes.insert(name.clone());
        }
        Ok(vec![Ok(())])
    }

    pub(super) fn depart(&mut self, name: &NodeName, term: Term) -> Whole {
        self.under_its_lease(name, term)?;
        if self.nodes.get(name).is_some_and(|member| member.term == term) {
            self.forget(name);
        }
        Ok(vec![Ok(())])
    }

    pub(super) fn forget(&mut self, name: &NodeName) {
        self.nodes.remove(name);
        self.changed_nodes.remove(name);
        self.departed.insert(name.clone());
    }

    /// Whether the fence that was checked is that of this very node.
    fn under_its_lease(&self, name: &NodeName, term: Term) -> Result<(), Refusal> {
        let invalid = |error: crate::id::NameError| Refusal::Invalid(error.to_string());
        let lease = node_lease(name).map_err(invalid)?;
        let its = self.node_leases.get(name).is_some_and(|held| held.name == lease && held.term == term);
        if its { Ok(()) } else { Err(Refusal::NodeOver(name.clone())) }
    }
}
