//! Pictures for the documentation, and what can be measured on them: no page is wider than a phone, and texts stand out from
//! what is behind them.
