package mysql

import (
	"github.com/thermocline/thermocline/server/metadata"
	"github.com/thermocline/thermocline/server/session"
)

var (
	_ Session  = (*session.Session)(nil)
	_ Accounts = metadata.Accounts(nil)
)
