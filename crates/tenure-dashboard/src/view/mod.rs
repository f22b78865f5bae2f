//! Small pieces of pages. Whatever a piece shows was written by others: it is escaped by the templates, and cut here.

pub(crate) mod chart;
pub(crate) mod form;
pub(crate) mod number;
pub(crate) mod pager;
pub(crate) mod payload;
pub(crate) mod state;
pub(crate) mod table;
pub(crate) mod text;
pub(crate) mod time;
