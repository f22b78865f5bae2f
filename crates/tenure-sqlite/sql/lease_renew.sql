-- A renewal that was decided about a remembered row (?1 to ?19): takes effect only where the row is still that one, to the
-- last column, and where the lock was had soon after the clocks were read (?39 to ?40, in milliseconds since 1970).
-- Answers with the database's version, as data_version.sql does.
update {leases} set
    term = ?21,
    node = ?22,
    incarnation = ?23,
    claim = ?24,
    renewals = ?25,
    machine = ?26,
    pid = ?27,
    kind = ?28,
    backend = ?29,
    acquired_at = ?30,
    renewed_at = ?31,
    expires_at = ?32,
    released_at = ?33,
    revoked_at = ?34,
    presence = ?35,
    presence_trust_ms = ?36,
    clock_boot = ?37,
    clock_us = ?38
where name = ?1
  and name = ?20
  and term is ?2
  and node is ?3
  and incarnation is ?4
  and claim is ?5
  and renewals is ?6
  and machine is ?7
  and pid is ?8
  and kind is ?9
  and backend is ?10
  and acquired_at is ?11
  and renewed_at is ?12
  and expires_at is ?13
  and released_at is ?14
  and revoked_at is ?15
  and presence is ?16
  and presence_trust_ms is ?17
  and clock_boot is ?18
  and clock_us is ?19
  and (julianday('now') - 2440587.5) * 86400000.0 between ?39 and ?40
returning (select data_version from pragma_data_version)
