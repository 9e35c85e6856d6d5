package session_test

import (
	"github.com/thermocline/thermocline/server/metadata"
	"github.com/thermocline/thermocline/server/mysql"
	"github.com/thermocline/thermocline/server/session"
)

// What the MySQL port asks for.
var (
	_ mysql.Session  = (*session.Session)(nil)
	_ mysql.Accounts = metadata.Accounts(nil)
)
