//! What the keys of a lease say at one revision.

use etcd_client::{Compare, CompareOp, GetResponse, KeyValue};
use tenure_core::StoreError;
use tenure_core::lease::{Grant, LeaseRecord, Loss, Term};

use crate::call::Call;
use crate::keys::Keys;
use crate::row::Row;

/// The keys of a lease at one revision.
#[derive(Debug)]
pub(crate) struct Look {
    /// The present grant.
    pub(crate) held: Option<Held>,
    /// The present grant, or the last one.
    pub(crate) last: Option<Last>,
    /// What tells this keyspace from one that is made anew under the same address.
    pub(crate) birth: Option<Vec<u8>>,
    cluster: u64,
    pub(crate) revision: i64,
}

/// The key that is there while someone holds the lease.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) row: Row,
    pub(crate) term: Term,
    /// The etcd lease that it is attached to.
    pub(crate) lease: i64,
    pub(crate) changed: i64,
}

/// The key that remembers.
#[derive(Debug)]
pub(crate) struct Last {
    pub(crate) row: Row,
    pub(crate) term: Term,
    pub(crate) changed: i64,
}

impl Look {
    pub(crate) async fn take(call: &mut Call, keys: &Keys) -> Result<Self, StoreError> {
        let (answer, read) = call.read(&[&keys.held, &keys.last, &keys.birth]).await?;
        let [held, last, birth] = read.as_slice() else {
            return Err(call.failed("reading the lease: etcd answered another question"));
        };
        let header = answer.header();
        Ok(Self {
            held: first(held).map(|found| Held::read(call, keys, found)).transpose()?,
            last: first(last).map(|found| Last::read(call, keys, found)).transpose()?,
            birth: first(birth).map(|found| found.value().to_vec()),
            cluster: header.map_or(0, |header| header.cluster_id()),
            revision: header.map_or(0, |header| header.revision()),
        })
    }

    /// What terms of this keyspace are counted from, given the mark that it has.
    pub(crate) fn epoch(&self, birth: &[u8]) -> String {
        format!("{:016x}/{}", self.cluster, String::from_utf8_lossy(birth))
    }

    /// Terms are revisions, and revisions only rise, unless the keys were copied into a cluster that counts from less: then
    /// nobody may lead until a person has looked at it.
    pub(crate) fn refuse_to_go_back(&self, call: &Call, keys: &Keys) -> Result<(), StoreError> {
        match self.last.as_ref().map(|last| last.term) {
            Some(remembered) if remembered.as_column() > self.revision => Err(StoreError::Corrupt {
                store: call.label().to_owned(),
                message: format!(
                    "lease {} was held under term {remembered}, but the cluster stands at revision {} only: its keys were \
                     copied from another cluster, or edited; once nobody believes in a former term any more, delete the \
                     key {}",
                    keys.name, self.revision, keys.last
                ),
            }),
            _ => Ok(()),
        }
    }

    /// The present grant, if it is this one.
    pub(crate) fn held_by(&self, grant: &Grant) -> Option<&Held> {
        self.held.as_ref().filter(|held| held.term == grant.term && held.row.is_of(grant))
    }

    /// Why a grant that is not the present one is over.
    pub(crate) fn loss(&self, grant: &Grant) -> Loss {
        if let Some(held) = &self.held {
            return Loss::Taken { term: held.term, by: held.row.node.clone() };
        }
        match &self.last {
            None => Loss::Unknown,
            Some(last) if last.term != grant.term || !last.row.is_of(grant) => {
                Loss::Taken { term: last.term, by: last.row.node.clone() }
            }
            Some(last) if last.row.released_at.is_some() => Loss::Released,
            Some(_) => Loss::Expired,
        }
    }

    /// The lease's row, if there ever was a holder.
    pub(crate) fn record(&self, keys: &Keys) -> Option<LeaseRecord> {
        match (&self.held, &self.last) {
            (Some(held), _) => Some(held.row.record(&keys.name, held.term)),
            (None, Some(last)) => Some(last.row.record(&keys.name, last.term)),
            (None, None) => None,
        }
    }
}

impl Held {
    fn read(call: &Call, keys: &Keys, found: &KeyValue) -> Result<Self, StoreError> {
        let row = Row::from_json(call.label(), &keys.held, found.value())?;
        let term = term(call, &keys.held, found.create_revision())?;
        Ok(Self { row, term, lease: found.lease(), changed: found.mod_revision() })
    }

    /// That this very grant stands, attached to its lease and unchanged since it was read.
    pub(crate) fn stands(&self, keys: &Keys) -> Vec<Compare> {
        vec![
            self.is_this_grant(keys),
            Compare::mod_revision(keys.held.as_str(), CompareOp::Equal, self.changed),
            Compare::lease(keys.held.as_str(), CompareOp::Equal, self.lease),
        ]
    }

    /// That the key was not deleted and made anew: the create revision names the grant.
    pub(crate) fn is_this_grant(&self, keys: &Keys) -> Compare {
        Compare::create_revision(keys.held.as_str(), CompareOp::Equal, self.term.as_column())
    }
}

impl Last {
    fn read(call: &Call, keys: &Keys, found: &KeyValue) -> Result<Self, StoreError> {
        let row = Row::from_json(call.label(), &keys.last, found.value())?;
        let changed = found.mod_revision();
        // Until a row says its term, it has not changed since the transaction whose revision the term is.
        let term = row.term.map_or_else(|| term(call, &keys.last, changed), Ok)?;
        Ok(Self { row, term, changed })
    }
}

fn term(call: &Call, key: &str, revision: i64) -> Result<Term, StoreError> {
    Term::from_column(revision).ok_or_else(|| StoreError::Corrupt {
        store: call.label().to_owned(),
        message: format!("the key {key} has the revision {revision}, which no key can have"),
    })
}

/// That nobody holds the lease.
pub(crate) fn is_free(keys: &Keys) -> Compare {
    Compare::create_revision(keys.held.as_str(), CompareOp::Equal, 0)
}

fn first(read: &GetResponse) -> Option<&KeyValue> {
    read.kvs().first()
}
