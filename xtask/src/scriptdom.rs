//! Microsoft's own grammar of Transact-SQL, which reads the statements for SQL Server where there is no such server.
//!
//! It comes as packages of Python, and is kept in an environment of its own. Without it the tests read the statements by a
//! more forgiving grammar alone, and say so.

use std::path::{Path, PathBuf};

use crate::apt::find_program;
use crate::cargo::root;
use crate::server::{Account, output};
use crate::{Result, cache};

/// Where tests look for a Python that has it.
pub(crate) const VARIABLE: &str = "TENURE_TEST_SCRIPTDOM";

/// Its folder, by what is in it: other versions are another folder.
const NAME: &str = "scriptdom-1";
/// What leads from Python to the grammar, with all it needs.
const BRIDGE: [&str; 1] = ["pythonnet==3.*"];
/// The runtime, and the program that carries the grammar with it. What else that program needs is of no use here.
const GRAMMAR: [&str; 2] = ["dotnetcore2==3.1.23", "mssql-cli==1.0.0"];

/// A Python that has the grammar; fetched once.
pub(crate) fn python() -> Result<PathBuf> {
    Ok(program(&cache::kept(&cache::folder()?, NAME, make)?))
}

fn program(folder: &Path) -> PathBuf {
    folder.join("bin/python")
}

/// Fetches it, and sees whether it reads.
fn make(folder: &Path) -> Result<()> {
    let system = find_program("python3").ok_or("there is no python3 here")?;
    eprintln!(
        "xtask: fetching Microsoft's grammar of SQL, to keep it in {}",
        folder.with_extension("").display()
    );
    let mut environment = Account::ourselves().command(&system);
    environment.args(["-m", "venv"]).arg(folder);
    output(environment)?;
    let pip = |args: &[&str], packages: &[&str]| {
        let mut pip = Account::ourselves().command(&program(folder));
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"]);
        pip.args(args).args(packages);
        output(pip)
    };
    pip(&[], &BRIDGE)?;
    pip(&["--no-deps"], &GRAMMAR)?;
    let mut look = Account::ourselves().command(&program(folder));
    look.arg(root().join("crates/tenure-sqlserver/tests/scriptdom.py"));
    output(look).map(|_| ())
}
