//! Changing what is shown before anyone sees it.

/// Takes out of payloads and headers what operators need not see. It is called for everything that would be shown, before it
/// is cut to the length that is shown. Where there is one, what receivers answered is shown to nobody: they like to repeat what
/// they were sent.
pub trait Redact: Send + Sync {
    /// Changes a payload; `kind` is the type of the message or event.
    fn payload(&self, topic: &str, kind: &str, payload: &mut Vec<u8>);

    /// Changes the value of a header.
    fn header(&self, name: &str, value: &mut String);
}
