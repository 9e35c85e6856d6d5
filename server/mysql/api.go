package mysql

import (
	"context"
	"time"

	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/metadata"
	"github.com/thermocline/thermocline/server/session"
)

// Accounts is what the login asks. metadata.Accounts satisfies it.
// Implementations are safe for concurrent use.
type Accounts interface {
	// Lookup finds the account that a login of user from a host (an address
	// without port, or "localhost" for a Unix socket) belongs to. Its Hash is
	// the stored form, never a password.
	Lookup(user, host string) (metadata.Account, bool)
}

// Authenticated is what Accounts may implement besides, to hear of logins. It
// is called when the password was right, before the client is told; an error
// refuses the login and is sent to the client.
type Authenticated interface {
	Authenticated(ctx context.Context, account metadata.Account, host string) error
}

// Session is one client's state, as the command loop uses it. *session.Session
// satisfies it. The loop calls it from one goroutine, and closes a statement's
// rows before it calls Execute, Use, Reset, ChangeUser or Close again.
type Session interface {
	// Execute runs one statement. params has a value a placeholder. The context
	// lives until the result is closed; it is cancelled with a cause when the
	// client goes away or the server stops.
	Execute(ctx context.Context, text string, params []expr.Value) (*session.Result, error)
	// Prepare describes a statement without running it.
	Prepare(ctx context.Context, text string) (*session.Prepared, error)
	// Split cuts a text into its statements. No statement at all gives an empty
	// slice.
	Split(text string) []string
	// Use changes the current database.
	Use(ctx context.Context, database string) error
	// Reset makes the session new, keeping account and database.
	Reset(ctx context.Context) error
	// ChangeUser makes the session another account's.
	ChangeUser(ctx context.Context, o session.OpenOptions) error
	// Status is the state to report after a statement.
	Status() session.Status
	// Zone is the session's time zone, in which TIMESTAMP values are shown.
	Zone() *time.Location
	// ResultsCollation is the collation of character_set_results, such as
	// "utf8mb4_0900_ai_ci"; "" means NULL: results keep their columns' own.
	ResultsCollation() string
	// ClientCollation is a collation of character_set_client, in which
	// statement texts and string parameters arrive.
	ClientCollation() string
	// Close ends the session. It may be called more than once.
	Close()
}

// SessionFactory makes sessions. Implementations are safe for concurrent use.
type SessionFactory interface {
	// NextID returns a connection id that is not in use.
	NextID() uint32
	// Open starts the session of a client that has been authenticated.
	Open(ctx context.Context, o session.OpenOptions) (Session, error)
}
