//! `tenure dashboard token`: a token for an operator, and the line that lets it in.

use std::process::ExitCode;
use std::time::SystemTime;

use serde_json::json;
use tenure_dashboard::{Permissions, Tokens};

use crate::args::{Global, TokenArgs};
use crate::output::{self, Failure};

pub(super) fn token(global: &Global, args: &TokenArgs) -> Result<ExitCode, Failure> {
    let permissions =
        Permissions::parse(&args.allow).map_err(|error| Failure::Usage(format!("--allow: {error}")))?;
    let until = match args.lasts {
        None => None,
        Some(lasts) if lasts.is_zero() => {
            return Err(Failure::Usage("--for: a token that is good for no time lets nobody in".to_owned()));
        }
        Some(lasts) => Some(
            SystemTime::now()
                .checked_add(lasts)
                .ok_or_else(|| Failure::Usage("--for: that is longer than time is counted".to_owned()))?,
        ),
    };
    let (token, line) = Tokens::make(&args.name, permissions, until)
        .map_err(|error| Failure::Usage(format!("--name: {error}")))?;
    if global.json {
        output::json(&json!({ "token": token, "line": line }))?;
        return Ok(ExitCode::SUCCESS);
    }
    output::line(format_args!("token  {token}"));
    output::line(format_args!("line   {line}"));
    output::note("the token is for the operator and is shown only now; the line is for the file of --tokens");
    Ok(ExitCode::SUCCESS)
}
