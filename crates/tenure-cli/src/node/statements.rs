//! The SQL of the ledger that daemons of a measured or tested node write. Its table stands beside Tenure's.

pub(super) mod postgres {
    pub(crate) const CREATE: &str = "CREATE TABLE IF NOT EXISTS {prefix}cluster_ledger (id bigserial PRIMARY KEY, \
        daemon text NOT NULL, generation bigint NOT NULL, node text NOT NULL, seq bigint NOT NULL)";
    pub(crate) const WRITE: &str =
        "INSERT INTO {prefix}cluster_ledger (daemon, generation, node, seq) VALUES ($1, $2, $3, $4)";
    /// A process that freezes between its fence and its commit must not keep its daemon.
    pub(crate) const OPENING: &str = "SET idle_in_transaction_session_timeout = '2s'";
    /// Two nodes that make one table at once stumble over each other.
    pub(crate) const LOCK: &str = "SELECT pg_advisory_xact_lock(7203987712441)";
}

pub(super) mod sqlite {
    pub(crate) const CREATE: &str = "CREATE TABLE IF NOT EXISTS {prefix}cluster_ledger (id integer PRIMARY KEY AUTOINCREMENT, \
        daemon text NOT NULL, generation integer NOT NULL, node text NOT NULL, seq integer NOT NULL)";
    pub(crate) const WRITE: &str =
        "INSERT INTO {prefix}cluster_ledger (daemon, generation, node, seq) VALUES (?1, ?2, ?3, ?4)";
}

pub(super) mod mysql {
    pub(crate) const CREATE: &str = "CREATE TABLE IF NOT EXISTS {cluster_ledger} (id bigint AUTO_INCREMENT PRIMARY KEY, \
        daemon varchar(200) NOT NULL, generation bigint NOT NULL, node varchar(200) NOT NULL, seq bigint NOT NULL)";
    pub(crate) const WRITE: &str =
        "INSERT INTO {cluster_ledger} (daemon, generation, node, seq) VALUES (?, ?, ?, ?)";
    /// A process that freezes between its fence and its commit must not keep its daemon.
    pub(crate) const OPENING: &str = "SET SESSION wait_timeout = 2";
}

/// With the names of the tables as the command line says, for MySQL.
pub(super) fn named_in_backticks(statement: &str, naming: &tenure::core::naming::Naming) -> String {
    statement.replace("{cluster_ledger}", &naming.table_quoted("cluster_ledger", ('`', '`')))
}

/// With the names of the tables as the command line says.
pub(super) fn named(statement: &str, naming: &tenure::core::naming::Naming) -> String {
    let schema = naming.schema.as_ref().map_or_else(String::new, |schema| format!("\"{schema}\"."));
    statement.replace("{prefix}", &format!("{schema}{}", naming.prefix))
}

/// A text for sqlx, which wants to be told that it is safe: names of tables and numbers are all that was put into it.
pub(super) fn for_sqlx(text: impl Into<String>) -> sqlx::AssertSqlSafe<String> {
    sqlx::AssertSqlSafe(text.into())
}
