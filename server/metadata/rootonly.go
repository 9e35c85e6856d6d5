package metadata

import (
	"context"
	"net/netip"

	"github.com/thermocline/thermocline/internal/errs"
)

// RootOnly is the account set of a server without accounts: root with an empty
// password and every right, from this machine only (DESIGN §4, State).
type RootOnly struct{}

// Root is the identity of root on a server without accounts.
var Root = Identity{User: "root", Host: "localhost"}

// Lookup implements Accounts.
func (RootOnly) Lookup(user, host string) (Account, bool) {
	if user != "root" || !Loopback(host) {
		return Account{}, false
	}
	return Account{Identity: Root, Plugin: "caching_sha2_password", Loopback: true, Super: true}, true
}

// Loopback reports whether a host is this machine.
func Loopback(host string) bool {
	if host == "" || host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}

// Allowed implements Accounts.
func (RootOnly) Allowed(who Identity, _ Privilege, _ Object) bool { return who == Root }

// Visible implements Accounts.
func (RootOnly) Visible(who Identity, _ Object) bool { return who == Root }

// Grants implements Accounts.
func (RootOnly) Grants(who Identity) ([]string, error) {
	if who != Root {
		return nil, errs.Userf(errs.AccessDenied, "show grants: there is no account %s", who)
	}
	return []string{"GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION"}, nil
}

// List implements Accounts.
func (RootOnly) List() []AccountInfo {
	return []AccountInfo{{Account: Account{Identity: Root, Plugin: "caching_sha2_password", Super: true}, Global: AllPrivileges | GrantOption}}
}

// Execute implements Accounts.
func (RootOnly) Execute(context.Context, Change) error {
	return errs.New(errs.Unsupported, errs.NotSupported, "change accounts: this server keeps none; start it with a data directory")
}
