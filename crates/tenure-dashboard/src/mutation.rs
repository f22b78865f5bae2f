//! Switches that turn one safety rule of the dashboard off each.
//!
//! As in the core: a rule that no test misses is a rule nobody can rely on. The switches belong to one dashboard and not to a
//! thread, because requests move between threads. Without the feature `mutations` every question is a constant.

/// A safety rule that can be switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// A request names a host that is ours; off: any.
    HostChecked,
    /// A change is asked for by a page of ours; off: by any page.
    SameOrigin,
    /// A change carries the token of a form; off: it need not.
    CsrfToken,
    /// The token of a form names the operator and the session; off: anyone's will do.
    CsrfNamesOperator,
    /// A route is for those who may use it; off: for everyone who is known.
    PermissionInHandler,
    /// Payloads are for those who may see them; off: for everyone who may look.
    PayloadHidden,
    /// Tokens and sessions end; off: never.
    Expiry,
    /// A session ends when its token is taken away; off: it goes on.
    RevokedEndsSession,
    /// Without tokens nobody may act; off: everyone on this machine may.
    LoopbackReadOnly,
    /// Without tokens nothing that came through a proxy is answered; off: it is.
    LoopbackRefusesProxy,
    /// Texts are escaped; off: one of them is not.
    Escape,
    /// A payload is cut before it is shown; off: it is shown whole.
    CutPayload,
    /// Parameters are bounded; off: they are not.
    BoundedParams,
    /// So many questions to the store at once, and no more; off: as many as come.
    AskBounded,
    /// A question to the store is never dropped half-way; off: it is, when nobody waits for it any longer.
    AskNotDropped,
    /// Every change is written to the audit table with the operator's name; off: without.
    AuditEveryAction,
    /// Looking changes nothing; off: a look writes a line of audit.
    GetChangesNothing,
    /// A job that is told to stop does; off: it goes on.
    JobStops,
    /// A job keeps to its rate; off: it goes as fast as it can.
    JobRate,
}

/// Which rules are off in a dashboard.
#[derive(Debug, Clone, Default)]
pub(crate) struct Switches {
    #[cfg(feature = "mutations")]
    off: Vec<Rule>,
}

impl Switches {
    /// Turns a rule off.
    #[cfg(feature = "mutations")]
    pub(crate) fn without(&mut self, rule: Rule) {
        self.off.push(rule);
    }

    /// Whether a rule is off.
    #[cfg(feature = "mutations")]
    pub(crate) fn off(&self, rule: Rule) -> bool {
        self.off.contains(&rule)
    }

    /// Whether a rule is off: never.
    #[cfg(not(feature = "mutations"))]
    pub(crate) const fn off(&self, _rule: Rule) -> bool {
        false
    }
}
