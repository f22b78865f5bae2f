//! The table of everything that can be asked for.
//!
//! It makes the router, the check of permissions, the API's document and the test that walks every route as every kind of
//! operator. What is not in it cannot be reached: the router has one entry, which looks here.

use std::pin::Pin;

use axum::response::Response;

use crate::asked::{Allowed, Asked, Right};
use crate::auth::{Action, Permission};
use crate::params::Param;
use crate::problem::Problem;
use crate::{api, auth, pages};

/// What a handler answers.
pub(crate) type Answer = Result<Response, Problem>;

/// The tables, each in its own place. Paths are below the mount.
const TABLES: [&[Route]; 3] = [auth::login::ROUTES, pages::ROUTES, api::ROUTES];

/// A row: a method and a path, who may ask, and who answers.
pub(crate) struct Route {
    pub(crate) verb: Verb,
    pub(crate) path: &'static str,
    pub(crate) kind: Kind,
    pub(crate) handler: &'static dyn Handler,
    /// What it changes.
    pub(crate) action: Option<Action>,
    /// In a sentence, for the API's document.
    pub(crate) summary: &'static str,
    /// Parameters of the query (for a look) or of the body (for a change).
    pub(crate) params: &'static [Param],
    /// The shape of the answer, for the API's document.
    pub(crate) answer: Shown,
}

/// The method of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    /// Looks, and changes nothing. Answers HEAD as well.
    Get,
    /// Changes something.
    Post,
}

/// What an answer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// People: a page.
    Page,
    /// Programs: JSON.
    Api,
    /// Browsers: scripts, streams, downloads; trouble is told as a line of text.
    File,
}

/// What the answer of a route looks like, by the name of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    /// One of a schema.
    One(&'static str),
    /// One of several schemas.
    AnyOf(&'static [&'static str]),
    /// `{"items": […], "next": "…" | null}`.
    List(&'static str),
    /// Something that has no schema here.
    Other,
}

impl Route {
    /// A page.
    pub(crate) const fn page(
        path: &'static str,
        summary: &'static str,
        handler: &'static dyn Handler,
    ) -> Self {
        Self {
            verb: Verb::Get,
            path,
            kind: Kind::Page,
            handler,
            action: None,
            summary,
            params: &[],
            answer: Shown::Other,
        }
    }

    /// A form that changes something, and answers with a page or a redirect to one.
    pub(crate) const fn form(
        path: &'static str,
        summary: &'static str,
        handler: &'static dyn Handler,
    ) -> Self {
        Self { verb: Verb::Post, ..Self::page(path, summary, handler) }
    }

    /// A file, a download or a stream.
    pub(crate) const fn file(
        path: &'static str,
        summary: &'static str,
        handler: &'static dyn Handler,
    ) -> Self {
        Self { kind: Kind::File, ..Self::page(path, summary, handler) }
    }

    /// JSON to look at.
    pub(crate) const fn json(
        path: &'static str,
        summary: &'static str,
        handler: &'static dyn Handler,
    ) -> Self {
        Self { kind: Kind::Api, ..Self::page(path, summary, handler) }
    }

    /// A change by JSON.
    pub(crate) const fn json_change(
        path: &'static str,
        summary: &'static str,
        handler: &'static dyn Handler,
    ) -> Self {
        Self { kind: Kind::Api, verb: Verb::Post, ..Self::page(path, summary, handler) }
    }

    pub(crate) const fn action(self, action: Action) -> Self {
        Self { action: Some(action), ..self }
    }

    pub(crate) const fn params(self, params: &'static [Param]) -> Self {
        Self { params, ..self }
    }

    pub(crate) const fn answers(self, answer: Shown) -> Self {
        Self { answer, ..self }
    }
}

/// All rows.
pub(crate) fn all() -> impl Iterator<Item = &'static Route> {
    TABLES.into_iter().flatten()
}

/// The rows of a path below the mount. A path that ends with `/*` in the table stands for everything below it.
pub(crate) fn at(path: &str) -> impl Iterator<Item = &'static Route> {
    all().filter(move |route| match route.path.strip_suffix('*') {
        Some(start) => path.starts_with(start),
        None => route.path == path,
    })
}

/// Answers a request. Made only by [`With`] and [`Anyone`], so that whoever answers was either given the proof that the
/// operator may, or is open to everyone by name.
pub(crate) trait Handler: Sync {
    /// Who may ask; `None` for everyone.
    fn permission(&self) -> Option<Permission>;
    /// Answers.
    fn call(&self, asked: Asked) -> Pin<Box<dyn Future<Output = Answer> + Send>>;
}

/// A handler for operators with a right. It takes the proof as its argument: one that does not cannot stand in the table.
pub(crate) struct With<P, F>(pub(crate) P, pub(crate) F);

impl<P, F, Fut> Handler for With<P, F>
where
    P: Right + Sync,
    F: Fn(Allowed<P>) -> Fut + Sync,
    Fut: Future<Output = Answer> + Send + 'static,
{
    fn permission(&self) -> Option<Permission> {
        Some(P::PERMISSION)
    }

    fn call(&self, asked: Asked) -> Pin<Box<dyn Future<Output = Answer> + Send>> {
        match Allowed::of(asked) {
            Ok(allowed) => Box::pin((self.1)(allowed)),
            Err(problem) => Box::pin(std::future::ready(Err(problem))),
        }
    }
}

/// A handler for everyone: the login and the files that its page needs.
pub(crate) struct Anyone<F>(pub(crate) F);

impl<F, Fut> Handler for Anyone<F>
where
    F: Fn(Asked) -> Fut + Sync,
    Fut: Future<Output = Answer> + Send + 'static,
{
    fn permission(&self) -> Option<Permission> {
        None
    }

    fn call(&self, asked: Asked) -> Pin<Box<dyn Future<Output = Answer> + Send>> {
        Box::pin((self.0)(asked))
    }
}

/// A row of the table, as tests and the documentation see it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RouteFacts {
    /// `GET` or `POST`.
    pub method: &'static str,
    /// The path below the mount.
    pub path: &'static str,
    /// Who may ask; `None` for everyone.
    pub permission: Option<Permission>,
    /// What it changes.
    pub action: Option<Action>,
    /// Whether it answers with JSON.
    pub is_api: bool,
    /// What it is, in a sentence.
    pub summary: &'static str,
}

/// Everything that can be asked for.
pub fn routes() -> impl Iterator<Item = RouteFacts> {
    all().map(|route| RouteFacts {
        method: match route.verb {
            Verb::Get => "GET",
            Verb::Post => "POST",
        },
        path: route.path,
        permission: route.handler.permission(),
        action: route.action,
        is_api: route.kind == Kind::Api,
        summary: route.summary,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_rows_are_one() {
        let mut seen = std::collections::BTreeSet::new();
        for route in routes() {
            assert!(seen.insert((route.path, route.method)), "{} {}", route.method, route.path);
            assert!(route.path.starts_with('/'), "{}", route.path);
            assert!(!route.summary.is_empty(), "{}", route.path);
        }
    }

    #[test]
    fn changes_are_for_those_who_may_act_and_say_what_they_change() {
        for route in routes() {
            match (route.method, route.path) {
                ("POST", "/login" | "/logout") => assert_eq!(route.action, None),
                ("POST", path) => {
                    assert_eq!(route.permission, Some(Permission::Operate), "{path}");
                    assert!(route.action.is_some(), "{path}");
                }
                (_, "/login" | "/assets/*") => assert_eq!(route.permission, None),
                (_, path) => {
                    assert!(route.permission.is_some(), "{path}");
                    assert_eq!(route.action, None, "{path}");
                }
            }
        }
    }
}
