// Package metadata answers what clients ask beside data: system variables,
// information_schema, SHOW, collations, privileges and accounts. What it shows
// of tables it computes from the catalogs, as virtual tables of the SPI
// (connector.Readable), so that SELECT over information_schema runs in the
// engine like any other (DESIGN D2).
//
// Invariants: a virtual table reads the state when it is planned, once a
// statement; it shows only what the session may see. Nothing here executes
// statements or knows a protocol. The library that keeps accounts and grants
// (go-mysql-server) is used by metadata/accounts alone, behind Accounts.
//
// Start reading at Accounts, Variable and Source.
package metadata
