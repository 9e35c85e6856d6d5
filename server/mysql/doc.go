// Package mysql is the MySQL port: the wire protocol that MySQL 8 speaks, on
// the standard library (DESIGN D6). It accepts connections, authenticates,
// reads commands, hands statements to a Session and writes results straight
// from column batches. It translates and never computes: types come from
// scan/expr, statements and state from server/session, accounts from
// server/metadata.
//
// Invariants. Nothing that a client sends can end the process: every length is
// checked before it is used, buffers grow with what really arrives and are paid
// for from the memory budget, a panic becomes error 1105 with an id that is
// logged. Before login a packet has at most 16 KiB and the whole login 10 s. An
// unknown user takes the same path as a known one. Every goroutine of a Server
// has ended when Serve returns.
//
// Layers, from the socket up: packets (packet.go, compress.go), handshake and
// login (handshake.go, auth.go), commands (conn.go, command.go, statement.go),
// results (result.go, column.go, rows.go). The byte layouts are those of the
// public protocol documentation ("MySQL Source Code Documentation: Client/Server
// Protocol"), checked against recordings of MySQL 9.7.
//
// Start reading at Server, then conn.serve.
package mysql
