//! What an operator may see and do.

use std::fmt;

use super::TokensError;

/// One right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Permission {
    /// To look at everything but payloads.
    View,
    /// To change things: retry, discard, steer, rewind.
    Operate,
    /// To see payloads, headers of messages, and the bodies of events.
    SeePayload,
}

impl Permission {
    /// The word for it, as it stands in a line of tokens.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::View => "view",
            Self::Operate => "operate",
            Self::SeePayload => "payloads",
        }
    }
}

/// A set of rights.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Permissions(u8);

impl Permissions {
    /// None at all.
    pub const NONE: Self = Self(0);
    /// Looking.
    pub const VIEW: Self = Self(1);
    /// Looking and acting.
    pub const OPERATE: Self = Self(1 | 2);
    /// Looking, also at payloads.
    pub const PAYLOADS: Self = Self(1 | 4);
    /// Everything.
    pub const ALL: Self = Self(1 | 2 | 4);

    /// Reads words with commas between: `operate,payloads`. Each of the words includes `view`.
    pub fn parse(words: &str) -> Result<Self, TokensError> {
        let known = |word: &str| match word {
            "view" => Ok(Self::VIEW),
            "operate" => Ok(Self::OPERATE),
            "payloads" => Ok(Self::PAYLOADS),
            _ => Err(TokensError::Permission),
        };
        words.split(',').try_fold(Self::NONE, |all, word| Ok(all.and(known(word.trim())?)))
    }

    /// These and those.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// These without the right to act.
    #[must_use]
    pub const fn only_looking(self) -> Self {
        Self(self.0 & !2)
    }

    /// Whether a right is among them.
    pub const fn has(self, permission: Permission) -> bool {
        let bit = match permission {
            Permission::View => 1,
            Permission::Operate => 2,
            Permission::SeePayload => 4,
        };
        self.0 & bit != 0
    }
}

/// As [`Permissions::parse`] reads it.
impl fmt::Display for Permissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.has(Permission::Operate) { "operate" } else { "view" };
        match (self.has(Permission::View), self.has(Permission::SeePayload)) {
            (false, _) => f.write_str("none"),
            (true, false) => f.write_str(word),
            (true, true) => write!(f, "{word},payloads"),
        }
    }
}

/// Something that changes things; every route that does names one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Action {
    /// Makes dead messages pending again.
    RetryMessages,
    /// Decides that dead messages are not sent.
    DiscardMessages,
    /// Asks a holder to give its lease back.
    RevokeLease,
    /// Takes a lease from a holder that may still believe in it.
    ForceLease,
    /// Pauses, resumes, moves or unpins a daemon.
    SteerDaemon,
    /// Moves the checkpoint of a subscription.
    Rewind,
    /// Stops a bulk change.
    StopJob,
}

impl Action {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RetryMessages => "retry-messages",
            Self::DiscardMessages => "discard-messages",
            Self::RevokeLease => "revoke-lease",
            Self::ForceLease => "force-lease",
            Self::SteerDaemon => "steer-daemon",
            Self::Rewind => "rewind",
            Self::StopJob => "stop-job",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn to_act_or_to_see_payloads_is_to_look_too() {
        for (words, shown) in [
            ("view", "view"),
            ("operate", "operate"),
            ("payloads", "view,payloads"),
            ("operate, payloads", "operate,payloads"),
            ("view,operate", "operate"),
        ] {
            let set = Permissions::parse(words).unwrap();
            assert_eq!(set.to_string(), shown);
            assert!(set.has(Permission::View), "{words}");
            assert_eq!(Permissions::parse(shown).unwrap(), set);
        }
        for wrong in ["", "admin", "view,", "VIEW", "operate;payloads"] {
            assert!(Permissions::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn whoever_may_only_look_may_not_act() {
        assert!(!Permissions::VIEW.has(Permission::Operate));
        assert!(!Permissions::VIEW.has(Permission::SeePayload));
        assert!(!Permissions::OPERATE.has(Permission::SeePayload));
        assert_eq!(Permissions::ALL.only_looking(), Permissions::PAYLOADS);
        assert!(!Permissions::NONE.has(Permission::View));
    }
}
