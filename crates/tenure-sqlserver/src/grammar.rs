//! What can be known of the folder `sql/` without a server.
//!
//! Every statement is read by a grammar of Transact-SQL, for plain and for odd names of tables; every parameter is one that
//! MySQL's statement of the same name has as well, for the same code gives them; and every text stands in a file, so that a
//! review sees what a change to a fragment does to all of them.
//!
//! `sqlparser` is forgiving. Microsoft's own grammar (ScriptDom, of SQL Server 2019) is not: where `TENURE_TEST_SCRIPTDOM`
//! names a Python that has `pythonnet`, `dotnetcore2` and `mssql-cli` (the last two without their dependencies), it reads the
//! same texts, by `tests/scriptdom.py`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use sqlparser::ast::{Expr, SelectItem, Statement};
use sqlparser::dialect::{Dialect, MsSqlDialect, MySqlDialect};
use sqlparser::parser::Parser;
use tenure_core::naming::{Identifier, Naming};
use tenure_sql::{Call, Statements, Texts, Value, include_statements};

use crate::batch::{Batch, DUPLICATE, Piece, UNMET, pieces};
use crate::session::{Part, Trips, parts};
use crate::statements::{
    GREETING, LOCK_FREE, LOCK_GIVE, LOCK_TAKE, OPEN_TRANSACTIONS, PING, QUOTES, TEXTS, migrations, session,
    walk,
};

/// Of so many statements at least both grammars know the columns.
const COMPARED: usize = 70;

/// The statements of the other database that the same code talks to.
const MYSQL: Texts = include_statements!("../../tenure-mysql/sql/");

fn odd() -> Naming {
    let identifier = |text: &str| Identifier::new("name", text).unwrap();
    Naming { schema: Some(identifier("select")), prefix: identifier("_9x_") }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("sql")
}

/// A part of other statements is none by itself.
fn is_part(name: &str) -> bool {
    name.ends_with("_columns") || name.ends_with("_fragment")
}

/// Every text that is ever said to a server, by name.
fn texts(naming: &Naming) -> BTreeMap<String, String> {
    let statements = Statements::new(&TEXTS, naming, QUOTES);
    let mut texts: BTreeMap<String, String> = statements
        .named()
        .into_iter()
        .filter(|(name, _)| !is_part(name))
        .map(|(name, text)| (name.to_owned(), text.to_owned()))
        .collect();
    for (name, text) in [
        ("driver greeting", GREETING),
        ("driver lock_take", LOCK_TAKE),
        ("driver lock_give", LOCK_GIVE),
        ("driver lock_free", LOCK_FREE),
        ("driver open_transactions", OPEN_TRANSACTIONS),
        ("driver ping", PING),
    ] {
        texts.insert(name.into(), text.into());
    }
    texts.insert("driver session".into(), session(std::time::Duration::from_secs(2)));
    texts.insert("migrations".into(), migrations(naming));
    texts.insert("driver walk".into(), walk(&statements));
    // As the driver puts it, with the branches in it.
    for (name, text, values) in branched(&statements) {
        texts.insert(name.into(), Batch::of(&Call::new(text, values)).unwrap().text);
    }
    texts
}

/// The numbers of a text's parameters.
fn numbers(sql: &str) -> BTreeSet<usize> {
    let of = |piece: &Piece<'_>| match piece {
        Piece::Plain(number) | Piece::Bytes(number) => Some(number + 1),
        _ => None,
    };
    pieces(sql).iter().filter_map(of).collect()
}

/// Without what this grammar does not know and the server does: a procedure's answer that is kept, hints to a join, to an insert and to a whole
/// statement, waits, marks within a transaction.
fn known(text: &str) -> String {
    [
        ("EXEC @own_taken = ", "EXEC "),
        ("EXEC @own_given = ", "EXEC "),
        (" LOOP JOIN ", " JOIN "),
        (" WITH (ROWLOCK) (\n", " (\n"),
        ("OPTION (FORCE ORDER)", ""),
        ("WAITFOR DELAY '00:00:00.025';", ""),
        ("SAVE TRANSACTION tenure_append", "SELECT 1"),
        ("SAVE TRANSACTION tenure_enqueue", "SELECT 1"),
        ("ROLLBACK TRANSACTION tenure_append", "ROLLBACK TRANSACTION"),
        ("ROLLBACK TRANSACTION tenure_enqueue", "ROLLBACK TRANSACTION"),
    ]
    .iter()
    .fold(text.to_owned(), |text, (unknown, plain)| text.replace(unknown, plain))
}

#[test]
fn every_statement_is_transact_sql() {
    let mut wrong = Vec::new();
    for naming in [Naming::default(), odd()] {
        for (name, text) in texts(&naming) {
            // It knows no list of settings, and no columns that are computed.
            if name == "driver session" || name == "migrations" {
                continue;
            }
            let text = known(&text);
            match Parser::parse_sql(&MsSqlDialect {}, &text) {
                Ok(statements) => assert!(!statements.is_empty(), "{name}"),
                Err(error) => wrong.push(format!("{name}: {error}\n{text}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

fn read_error(text: &str) -> Option<String> {
    Parser::parse_sql(&MsSqlDialect {}, &known(text)).err().map(|error| error.to_string())
}

/// What a look at the rows of a source after a place asks.
fn lanes(statements: &Statements) -> Value {
    let one = statements.outbox_lane.clone();
    Value::Branches {
        one,
        each: vec![vec![Value::Bytes(vec![1]), 1_i64.into(), 2_i64.into(), 3_i64.into(), 4_i64.into()]],
    }
}

/// The statements in which branches stand, and what they are given.
fn branched(statements: &Statements) -> [(&'static str, &str, Vec<Value>); 4] {
    let one = statements.dead_cause.clone();
    let causes = Value::Branches { one, each: vec![vec![1_i64.into(), 2_i64.into()]] };
    let one = statements.outbox_head.clone();
    let heads = Value::Branches { one, each: vec![vec![Value::Bytes(vec![1])]] };
    let one = statements.outbox_between.clone();
    let between = Value::Branches { one, each: vec![vec![Value::Bytes(vec![]), Value::Bytes(vec![255])]] };
    [
        ("outbox_heads", &statements.outbox_heads, vec![heads]),
        ("outbox_heads between", &statements.outbox_heads, vec![between]),
        ("outbox_lanes", &statements.outbox_lanes, vec![lanes(statements), 7_i64.into(), 8_i64.into()]),
        ("dead_causes", &statements.dead_causes, vec![causes]),
    ]
}

#[test]
fn a_text_of_several_statements_is_transact_sql_too() {
    let statements = Statements::new(&TEXTS, &odd(), QUOTES);
    let mut batch = Batch::default();
    for (name, text) in statements.named() {
        if !is_part(name) {
            let mut values = vec![Value::from("x"); numbers(text).last().copied().unwrap_or_default()];
            if let Some((_, _, given)) = branched(&statements).into_iter().find(|(known, ..)| *known == name)
            {
                values = given;
            }
            batch.add(&Call::new(text, values)).unwrap();
        }
    }
    assert_eq!(read_error(&batch.text), None, "{}", batch.text);
    assert!(!batch.text.contains("@B") && !batch.text.contains("@now "), "{}", batch.text);
}

#[test]
fn what_is_not_transact_sql_is_found() {
    for wrong in
        ["SELECT a FROM t WHERE", "UPDATE t SET WHERE a = 1", "SELECT a FROM t ON DUPLICATE KEY UPDATE a = 1"]
    {
        assert!(read_error(wrong).is_some(), "{wrong}");
    }
}

/// The same code gives the parameters, whichever database it talks to.
#[test]
fn parameters_are_those_of_mysql() {
    let mysql = Statements::new(&MYSQL, &Naming::default(), ('`', '`'));
    let statements = Statements::new(&TEXTS, &Naming::default(), QUOTES);
    for ((name, text), (_, theirs)) in statements.named().into_iter().zip(mysql.named()) {
        let theirs: BTreeSet<usize> = tenure_sql::pieces(theirs)
            .iter()
            .filter_map(|piece| match piece {
                tenure_sql::Piece::Parameter(number) => Some(number + 1),
                tenure_sql::Piece::Text(_) => None,
            })
            .collect();
        // An expression stands where MySQL has one; here the rows are read that its parameters are in.
        if !name.starts_with("given_") {
            assert_eq!(numbers(text), theirs, "{name}");
        }
        let last = theirs.last().copied().unwrap_or_default();
        assert!(is_part(name) || theirs.len() == last, "{name}: there is a gap");
        assert!(!text.contains('$') || text.contains("'$"), "{name}: parameters are called @P1 here");
    }
}

/// The names of the columns that the last question of a text answers with; `None` if it asks none, or this grammar cannot read
/// it. Names in braces stand for themselves.
fn columns(dialect: &dyn Dialect, text: &str) -> Option<Vec<String>> {
    let text = known(text).replace("FROM (@P1) AS f", "FROM f").replace("FROM ($1) AS f", "FROM f");
    // Nor does it know this of MySQL's.
    let text = text.replace("LOCK IN SHARE MODE", "");
    let text = ['{', '}'].iter().fold(text, |text, brace| text.replace(*brace, ""));
    let statements = Parser::parse_sql(dialect, &text).ok()?;
    let asked = statements.iter().rev().find_map(|statement| match statement {
        Statement::Query(query) => query.body.as_select(),
        _ => None,
    })?;
    let name = |item: &SelectItem| match item {
        SelectItem::ExprWithAlias { alias, .. } => alias.value.clone(),
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => {
            parts.last().map(|part| part.value.clone()).unwrap_or_default()
        }
        other => other.to_string().trim_matches(['[', ']']).to_owned(),
    };
    Some(asked.projection.iter().map(name).collect())
}

/// The same code reads the answers, some by name and some by place.
#[test]
fn answers_have_the_columns_of_mysqls() {
    let mysql = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tenure-mysql/sql");
    let mut compared = 0;
    for (name, text) in TEXTS.named() {
        let theirs = std::fs::read_to_string(mysql.join(format!("{name}.sql"))).unwrap();
        let part = |text: &str| if name.ends_with("_columns") { as_question(text) } else { text.to_owned() };
        let ours = columns(&MsSqlDialect {}, &part(text));
        let theirs = columns(&MySqlDialect {}, &part(&theirs));
        if let (Some(ours), Some(theirs)) = (ours, theirs) {
            assert_eq!(ours, theirs, "{name}");
            compared += 1;
        }
    }
    assert!(compared >= COMPARED, "only {compared} could be compared");
}

fn as_question(columns: &str) -> String {
    let bare: Vec<&str> = columns.lines().filter(|line| !line.starts_with("--")).collect();
    ["SELECT ", &bare.join("\n"), " FROM t"].concat()
}

#[test]
fn both_folders_have_the_same_names() {
    let names = |folder: &Path| -> BTreeSet<String> {
        let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        files
            .filter(|file| file.extension().is_some_and(|extension| extension == "sql"))
            .filter_map(|file| file.file_stem().map(|name| name.to_string_lossy().into_owned()))
            .collect()
    };
    let mysql = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tenure-mysql/sql");
    assert_eq!(names(&folder()), names(&mysql));
    assert_eq!(names(&folder().join("migrations")), names(&mysql.join("migrations")));
    let listed: BTreeSet<String> = TEXTS.named().into_iter().map(|(name, _)| name.to_owned()).collect();
    assert_eq!(names(&folder()), listed);
}

/// Some statements hand on what they found to later ones, by variables of the text that they all stand in.
#[test]
fn a_variable_of_a_text_is_declared_in_it_before_it_is_used() {
    let statements = Statements::new(&TEXTS, &Naming::default(), QUOTES);
    let Statements { events_top, slots_settled, slots_unsettled, slots_seen, events_all, .. } = &statements;
    let calls: Vec<Call<'_>> = [events_top, slots_settled, slots_unsettled, slots_seen, events_all]
        .iter()
        .map(|sql| Call::new(sql, vec![Value::Int(1); 3]))
        .collect();
    let [Part::Batch(all)] = &parts(&calls, Trips::Apart).unwrap()[..] else { panic!("several texts") };
    for (name, text) in [("@all_", &all.text), ("@walk_", &walk(&statements))] {
        let bare: Vec<&str> = text.lines().filter(|line| !line.starts_with("--")).collect();
        let bare = bare.join("\n");
        let words = |text: &str| -> Vec<String> {
            let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '@';
            text.split(|c| !word(c)).filter(|word| word.starts_with(name)).map(str::to_owned).collect()
        };
        let used: BTreeSet<String> = words(&bare).into_iter().collect();
        assert!(used.len() > 1, "{name}: {bare}");
        for variable in used {
            let first = bare.find(&variable).unwrap();
            let line = bare[..first].rfind('\n').map_or(0, |end| end + 1);
            assert!(bare[line..first].starts_with("DECLARE "), "{variable}: {bare}");
        }
    }
    let others = statements.named().into_iter().filter(|(_, text)| text.contains("@all_")).count();
    assert_eq!(others, 4, "another statement stands alone, and cannot know what these have found");
}

/// No statement may say what only other databases know, whatever a forgiving grammar thinks of it.
#[test]
fn no_statement_says_what_only_others_know() {
    for (name, text) in texts(&Naming::default()) {
        let upper = text.to_ascii_uppercase();
        for other in [
            " LIMIT ",
            "FOR UPDATE",
            "SKIP LOCKED",
            "LOCK IN SHARE MODE",
            "ON DUPLICATE",
            "ON CONFLICT",
            "RETURNING ",
            "UTC_TIMESTAMP",
            "TIMESTAMPDIFF",
            "TABLE IF NOT EXISTS",
            "CONCAT_WS",
            "`",
            " ON TRUE",
            "NOW()",
            "INTERVAL ",
            "INSERT IGNORE",
            "GREATEST(",
            "LEAST(",
            "CHAR_LENGTH",
            "||",
        ] {
            assert!(!upper.contains(other), "{name}: {other}\n{text}");
        }
    }
}

/// What a statement has changed is what its last part has: after an `IF` the server counts anew, from 0.
#[test]
fn no_statement_asks_how_many_rows_it_changed_and_forgets_it_by_that() {
    for (name, text) in TEXTS.named() {
        let asks = text.contains("ROWCOUNT");
        assert!(!asks, "{name}: look first, change last");
        let ends_early = text.contains("RETURN;");
        let says_why = text.contains(DUPLICATE) || text.contains(UNMET);
        assert_eq!(ends_early, says_why, "{name}");
    }
}

/// Names are bytes: a text that is compared with one, or written to one, is given as bytes.
#[test]
fn names_are_given_as_bytes() {
    for (name, text) in texts(&Naming::default()) {
        for wrong in ["name = @P", "name > @P", "stream = @P", "daemon = @P"] {
            assert!(!text.contains(&format!(" {wrong}")), "{name}: {wrong}\n{text}");
            assert!(!text.contains(&format!(".{wrong}")), "{name}: {wrong}\n{text}");
        }
    }
}

/// To accept what has changed: run this test with `TENURE_WRITE_SNAPSHOTS=1`, and look at the difference.
#[test]
fn a_change_to_any_text_is_seen() {
    let mut now =
        String::from("-- Every text as the server reads it. Written by the tests of src/grammar.rs.\n");
    for (name, text) in texts(&Naming::default()) {
        now.push_str(&format!("\n-- {name}\n{}\n", text.trim()));
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/statements.snapshot.sql");
    if std::env::var("TENURE_WRITE_SNAPSHOTS").is_ok() {
        std::fs::write(&file, &now).unwrap();
    }
    let before = std::fs::read_to_string(&file).unwrap_or_default();
    let difference = now.lines().zip(before.lines()).find(|(now, before)| now != before);
    assert!(now == before, "the texts are not those of {}: {difference:?}", file.display());
}

#[test]
fn microsofts_own_grammar_reads_every_statement() {
    let Ok(python) = std::env::var("TENURE_TEST_SCRIPTDOM") else {
        use std::io::Write as _;
        let line = "TENURE_TEST_SCRIPTDOM IS NOT SET: Microsoft's own grammar was not asked";
        let _ = writeln!(std::io::stderr(), "tenure-sqlserver: {line}");
        return;
    };
    let folder = std::env::temp_dir().join(format!("tenure-scriptdom-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut files = Vec::new();
    for (kind, naming) in [("plain", Naming::default()), ("odd", odd())] {
        for (name, text) in texts(&naming) {
            let file = folder.join(format!("{kind} {name}.sql"));
            std::fs::write(&file, text).unwrap();
            files.push(file);
        }
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scriptdom.py");
    let told = std::process::Command::new(python).arg(script).args(&files).output().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let words = String::from_utf8_lossy(&told.stdout);
    assert!(told.status.success(), "{words}{}", String::from_utf8_lossy(&told.stderr));
    assert!(words.contains(&format!("{} texts were read", files.len())), "{words}");
}
