//! A request that has come through the gate, and the proof of what its operator may.

use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use tenure_core::observe::{Actor, Via};

use crate::auth::who::Known;
use crate::auth::{Action, Operator, Permission, csrf};
use crate::dashboard::Desk;
use crate::mutation::Rule;
use crate::params::Params;
use crate::problem::Problem;

/// A request, with everything that its handler needs.
#[derive(Clone)]
pub(crate) struct Asked {
    pub(crate) desk: Arc<Desk>,
    /// Its number: 16 hexadecimal digits.
    pub(crate) id: String,
    /// The path below the mount.
    pub(crate) path: String,
    pub(crate) query: Params,
    /// The fields of a form or of a JSON body; empty for a look.
    pub(crate) body: Params,
    /// The host that it names, which is ours.
    pub(crate) host: String,
    /// Where it came from, if the server tells.
    pub(crate) peer: Option<std::net::IpAddr>,
    /// Whether it asks through the API.
    pub(crate) by_api: bool,
    pub(crate) known: Option<Known>,
}

impl Asked {
    /// Who asks, if anyone is known.
    pub(crate) fn operator(&self) -> Option<&Operator> {
        self.known.as_ref().map(|known| &known.operator)
    }

    /// Whether the operator has a right, for showing what he could do; a handler needs the proof.
    pub(crate) fn may(&self, permission: Permission) -> bool {
        self.operator().is_some_and(|operator| operator.permissions.has(permission))
    }

    /// Whether the operator may do something, for showing a button.
    pub(crate) fn may_do(&self, action: Action) -> bool {
        self.may(Permission::Operate)
            && self.operator().is_some_and(|operator| !operator.denied.contains(&action))
    }

    /// The token for the forms of a page.
    pub(crate) fn form_token(&self) -> String {
        let Some(known) = &self.known else { return String::new() };
        csrf::token(&self.desk.auth.key(), &known.operator.name, known.session_end, self.desk.now())
    }

    /// The proof that payloads may be seen, where that is so.
    pub(crate) fn seeing(&self) -> Option<Seeing> {
        let may = self.may(Permission::SeePayload) || self.desk.off(Rule::PayloadHidden);
        may.then_some(Seeing(()))
    }

    /// A path of ours as a browser has to ask for it.
    pub(crate) fn link(&self, path: &str) -> String {
        self.desk.link(path)
    }
}

/// A right, as a type.
pub(crate) trait Right: Send + 'static {
    /// The right.
    const PERMISSION: Permission;
}

/// Looking.
pub(crate) struct View;
/// Acting.
pub(crate) struct Operate;
/// Seeing payloads.
pub(crate) struct SeePayload;

impl Right for View {
    const PERMISSION: Permission = Permission::View;
}
impl Right for Operate {
    const PERMISSION: Permission = Permission::Operate;
}
impl Right for SeePayload {
    const PERMISSION: Permission = Permission::SeePayload;
}

/// A request of an operator who has a right. Nothing else makes one, so whoever holds it need not ask again.
pub(crate) struct Allowed<P> {
    asked: Asked,
    right: PhantomData<P>,
}

impl<P: Right> Allowed<P> {
    /// The proof, if the operator has the right.
    pub(crate) fn of(asked: Asked) -> Result<Self, Problem> {
        check(&asked, P::PERMISSION)?;
        Ok(Self { asked, right: PhantomData })
    }

    /// Who asks.
    pub(crate) fn name(&self) -> &str {
        self.asked.operator().map_or("", |operator| operator.name.as_str())
    }

    /// Who asks, as the audit table is to say it.
    pub(crate) fn actor(&self) -> String {
        if self.desk.off(Rule::AuditEveryAction) {
            return "someone".into();
        }
        let via = if self.by_api { Via::Api } else { Via::Dashboard };
        let number = u64::from_str_radix(&self.id, 16).unwrap_or_default();
        match Actor::new(self.name(), via) {
            Ok(actor) => actor.in_request(number).to_string(),
            // The gate lets nobody in by a name that cannot be one.
            Err(_) => format!("someone ({}, request {})", via.as_str(), self.id),
        }
    }
}

/// Whether the operator has a right.
pub(crate) fn check(asked: &Asked, permission: Permission) -> Result<(), Problem> {
    if asked.may(permission) || (asked.known.is_some() && asked.desk.off(Rule::PermissionInHandler)) {
        return Ok(());
    }
    let word = permission.as_str();
    Err(Problem::Forbidden(match permission {
        Permission::Operate if !asked.desk.auth.may_act() => {
            "this dashboard only looks: no tokens are configured, see `tenure dashboard token`".into()
        }
        Permission::Operate if asked.desk.looks_only => {
            "this dashboard only looks (`--no-actions`): nobody acts here, whatever his token lets him do"
                .into()
        }
        _ => format!("this needs the permission `{word}`, which your token does not have"),
    }))
}

impl<P> Deref for Allowed<P> {
    type Target = Asked;
    fn deref(&self) -> &Asked {
        &self.asked
    }
}

/// The proof that payloads, headers and bodies may be shown. Whatever renders one takes it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seeing(());
