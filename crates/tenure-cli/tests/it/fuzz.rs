//! Any text as the URL of a database or a receiver: nothing panics, and what is refused is never repeated, for it may hold a
//! password.

use proptest::prelude::*;
use tenure::sink::{SinkOptions, from_url};

const SECRET: &str = "CANARY8f2";

/// What stands in URLs, put together at random, and anything else.
fn url() -> impl Strategy<Value = String> {
    let scheme = proptest::sample::select(vec![
        "postgres",
        "postgresql",
        "mysql",
        "mariadb",
        "sqlserver",
        "mssql",
        "sqlite",
        "file",
        "memory",
        "http",
        "https",
        "stdout",
        "kafka",
        "nats",
        "etcd",
        "",
        "POSTGRES",
    ]);
    let middle = proptest::sample::select(vec!["://", ":", ":///", "", "://[", ":////", "://@", ":\0"]);
    let option = proptest::sample::select(vec![
        "sslmode=verify-full",
        "sslmode=x",
        "connect_timeout=99999999999999999999",
        "connect_timeout=-1",
        "port=0",
        "port=65536",
        "host=",
        "application_name=%00",
        "password=CANARY8f2",
        "user=%ff",
        "=",
        "&&",
        "a",
        "encrypt=no",
        "sslrootcert=/none",
        "mode=ro",
        "key=CANARY8f2",
    ]);
    let options = proptest::collection::vec(option, 0..4).prop_map(|all| all.join("&"));
    let host = prop_oneof!["[a-z0-9.:\\[\\]%-]{0,20}", "\\PC{0,20}", Just("127.0.0.1:99999".to_owned())];
    (scheme, middle, any::<bool>(), host, "(/\\PC{0,10}){0,2}", options, "(#\\PC{0,5})?").prop_map(
        |(scheme, middle, secret, host, path, options, end)| {
            let user = if secret { format!("u:{SECRET}@") } else { String::new() };
            format!("{scheme}{middle}{user}{host}{path}?{options}{end}")
        },
    )
}

/// What an error says, at whatever depth.
fn said(error: &dyn std::error::Error) -> String {
    let mut all = format!("{error} {error:?}");
    let mut source = error.source();
    while let Some(error) = source {
        all.push_str(&format!(" {error} {error:?}"));
        source = error.source();
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_url_makes_it_panic_and_no_error_repeats_it(url in prop_oneof![url().boxed(), "\\PC{0,60}".boxed()]) {
        let refused = [
            tenure::postgres::PostgresOptions::from_url(&url).err().map(|error| said(&error)),
            tenure::mysql::MySqlOptions::from_url(&url).err().map(|error| said(&error)),
            tenure::sqlserver::SqlServerOptions::from_url(&url).err().map(|error| said(&error)),
            tenure::sqlite::SqliteOptions::from_url(&url).err().map(|error| said(&error)),
            from_url(&url, SinkOptions::default()).err().map(|error| said(&error)),
        ];
        for text in refused.into_iter().flatten() {
            prop_assert!(!text.contains(SECRET), "{}", text);
        }
        // What is accepted hides it as well.
        let shown = [
            tenure::postgres::PostgresOptions::from_url(&url).ok().map(|options| format!("{options:?}")),
            tenure::mysql::MySqlOptions::from_url(&url).ok().map(|options| format!("{options:?}")),
            tenure::sqlserver::SqlServerOptions::from_url(&url).ok().map(|options| format!("{options:?}")),
        ];
        for text in shown.into_iter().flatten() {
            prop_assert!(!text.contains(SECRET), "{}", text);
        }
    }
}
