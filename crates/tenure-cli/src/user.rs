//! Who sits at the keyboard, for the audit.

/// The user's name, as the system knows it.
pub(crate) fn name() -> String {
    let named =
        ["USER", "LOGNAME"].iter().find_map(|key| std::env::var(key).ok()).filter(|name| !name.is_empty());
    let listed = || nix::unistd::User::from_uid(nix::unistd::getuid()).ok().flatten().map(|user| user.name);
    named.or_else(listed).unwrap_or_else(|| format!("uid {}", nix::unistd::getuid()))
}
