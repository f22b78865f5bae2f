//! Databases by URL: on servers that the environment names, with tables of a test's own that go with it.

use std::io::{self, Write};

use tempfile::TempDir;
#[cfg(any(feature = "postgres", feature = "mysql"))]
use tenure::core::naming::TABLES;
use tenure::core::naming::{Identifier, Naming};
use tenure::{Database, OpenOptions};

/// One database for one test.
pub(crate) struct Place {
    pub(crate) url: String,
    pub(crate) naming: Naming,
    _directory: TempDir,
}

impl Place {
    /// The one of this name: `sqlite`, or a server whose URL the environment holds. Its absence is said aloud, and fails
    /// with `CI=true`.
    pub(crate) fn of(name: &str) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let url = match name {
            "sqlite" => format!("sqlite:{}", directory.path().join("app.db").display()),
            server => given(&format!("TENURE_TEST_{}_URL", server.to_ascii_uppercase()))?,
        };
        let prefix = format!("t_{:012x}_", fastrand::u64(..1 << 48));
        let naming = Naming { schema: None, prefix: Identifier::new("prefix", &prefix).unwrap() };
        Some(Self { url, naming, _directory: directory })
    }

    /// Opened, with its tables made.
    pub(crate) async fn open(&self) -> Database {
        let options = OpenOptions { naming: self.naming.clone(), ..OpenOptions::default() };
        let database = tenure::open(&self.url, options).await.unwrap();
        database.schema().migrate().await.unwrap();
        database
    }

    /// Leaves nothing behind on a server that belongs to someone else.
    pub(crate) async fn clean(&self) {
        match self.url.split(':').next() {
            #[cfg(feature = "postgres")]
            Some("postgres" | "postgresql") => {
                use sqlx::{AssertSqlSafe, Connection as _};
                let mut connection = sqlx::PgConnection::connect(&self.url).await.unwrap();
                sqlx::raw_sql(AssertSqlSafe(self.drop_tables(('"', '"'))))
                    .execute(&mut connection)
                    .await
                    .unwrap();
            }
            #[cfg(feature = "mysql")]
            Some("mysql" | "mariadb") => {
                use sqlx::{AssertSqlSafe, Connection as _};
                let mut connection = sqlx::MySqlConnection::connect(&self.url).await.unwrap();
                sqlx::raw_sql(AssertSqlSafe(self.drop_tables(('`', '`'))))
                    .execute(&mut connection)
                    .await
                    .unwrap();
            }
            _ => {}
        }
    }
}

#[cfg(any(feature = "postgres", feature = "mysql"))]
impl Place {
    fn drop_tables(&self, quotes: (char, char)) -> String {
        let tables: Vec<_> = TABLES.iter().map(|table| self.naming.table_quoted(table, quotes)).collect();
        format!("drop table if exists {} cascade", tables.join(", "))
    }
}

/// The value of a variable. Its absence is said aloud, and fails with `CI=true`.
pub(crate) fn given(variable: &str) -> Option<String> {
    if let Some(url) = std::env::var(variable).ok().filter(|url| !url.is_empty()) {
        return Some(url);
    }
    let ci = std::env::var("CI").is_ok_and(|value| value == "true" || value == "1");
    assert!(!ci, "{variable} is not set, and with CI=true that is a failure");
    // Past the capture of test output, which would keep it from being heard.
    let _ =
        writeln!(io::stderr(), "{variable} IS NOT SET: a test on that server passes without having been run");
    None
}
