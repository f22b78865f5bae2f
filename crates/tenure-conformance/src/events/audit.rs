//! What operators did, of all themes in one list.
