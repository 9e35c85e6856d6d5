package accounts

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/server/metadata"
)

// root is who runs the statements of tests.
var root = metadata.Account{Identity: metadata.Root, Super: true}

func open(t *testing.T, files fileio.FileIO) *Store {
	t.Helper()
	s, err := Open(t.Context(), Options{Files: files, Path: "/data/accounts",
		Hash: func(plugin, password string) (string, error) { return "hash of " + password, nil }})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func as(t *testing.T, s *Store, who metadata.Account, text string) error {
	t.Helper()
	p, err := syntax.ParseOne(text, syntax.Options{})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s.Execute(t.Context(), metadata.Change{Who: who, Database: "shop", DefaultCatalog: "lake", Statement: p.Statement})
}

func must(t *testing.T, s *Store, texts ...string) {
	t.Helper()
	for _, x := range texts {
		if err := as(t, s, root, x); err != nil {
			t.Fatalf("%s: %v", x, err)
		}
	}
}

func kindOf(t *testing.T, s *Store, who metadata.Account, text string, want errs.Kind) {
	t.Helper()
	if err := as(t, s, who, text); errs.KindOf(err) != want {
		t.Errorf("%s: %v, want kind %q", text, err, want)
	}
}

func grants(t *testing.T, s *Store, user, host string) string {
	t.Helper()
	g, err := s.Grants(metadata.Identity{User: user, Host: host})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(g, "\n")
}

// The texts of SHOW GRANTS are what MySQL 9.7 prints after the same statements.
func TestGrants(t *testing.T) {
	files := fileio.NewMemory()
	s := open(t, files)
	must(t, s,
		"CREATE USER ada@'%' IDENTIFIED BY 'pw', bob@'10.1.%' IDENTIFIED WITH mysql_native_password BY 'x'",
		"GRANT SELECT, INSERT ON shop.* TO ada",
		"GRANT UPDATE ON shop.Orders TO ada",
		"GRANT SELECT ON `lake`.`shop`.`orders` TO bob@'10.1.%'",
		"GRANT SELECT ON cold.arch.t TO bob@'10.1.%'",
		"CREATE ROLE reader",
		"GRANT SELECT ON *.* TO reader",
		"GRANT ALL ON own.* TO ada WITH GRANT OPTION",
	)
	check := func(s *Store) {
		t.Helper()
		if got, want := grants(t, s, "ada", "%"), "GRANT USAGE ON *.* TO `ada`@`%`\nGRANT ALL PRIVILEGES ON `own`.* TO `ada`@`%` WITH GRANT OPTION\n"+
			"GRANT SELECT, INSERT ON `shop`.* TO `ada`@`%`\nGRANT UPDATE ON `shop`.`Orders` TO `ada`@`%`"; got != want {
			t.Errorf("grants of ada:\n%s\nwant\n%s", got, want)
		}
		ada, bob := metadata.Identity{User: "ada", Host: "%"}, metadata.Identity{User: "bob", Host: "10.1.%"}
		for _, c := range []struct {
			who  metadata.Identity
			p    metadata.Privilege
			on   metadata.Object
			want bool
		}{
			{ada, metadata.Select, metadata.Object{Database: "shop", Table: "x"}, true},
			{ada, metadata.Select, metadata.Object{Database: "Shop", Table: "x"}, false},
			{ada, metadata.Select, metadata.Object{Catalog: "cold", Database: "shop", Table: "x"}, false},
			{ada, metadata.Update, metadata.Object{Database: "shop", Table: "Orders"}, true},
			{ada, metadata.Update | metadata.Select, metadata.Object{Database: "shop", Table: "Orders"}, true},
			{ada, metadata.Update, metadata.Object{Database: "shop", Table: "orders"}, false},
			{ada, metadata.Super, metadata.Object{}, false},
			{bob, metadata.Select, metadata.Object{Database: "shop", Table: "orders"}, true},
			{bob, metadata.Select, metadata.Object{Catalog: "cold", Database: "arch", Table: "t"}, true},
			{bob, metadata.Select, metadata.Object{Database: "arch", Table: "t"}, false},
			{bob, metadata.Select, metadata.Object{Database: "shop"}, false},
		} {
			if got := s.Allowed(c.who, c.p, c.on); got != c.want {
				t.Errorf("%s may %s on %+v: %v", c.who, c.p, c.on, got)
			}
		}
		if !s.Visible(bob, metadata.Object{Database: "shop"}) || s.Visible(bob, metadata.Object{Database: "own"}) {
			t.Error("bob sees the wrong databases")
		}
	}
	check(s)
	check(open(t, files)) // as it was written

	s = open(t, files)
	carl := metadata.Identity{User: "carl", Host: "%"}
	must(t, s, "CREATE USER carl", "GRANT reader TO carl")
	if !s.Allowed(carl, metadata.Select, metadata.Object{Database: "any", Table: "t"}) {
		t.Error("a role's rights do not count")
	}
	if got, want := grants(t, s, "carl", "%"), "GRANT USAGE ON *.* TO `carl`@`%`\nGRANT `reader`@`%` TO `carl`@`%`"; got != want {
		t.Errorf("grants of carl: %s", got)
	}
	s = open(t, files)
	if _, ok := s.Lookup("reader", "127.0.0.1"); ok {
		t.Error("a role may log in after a restart")
	}
	must(t, s, "REVOKE reader FROM carl")
	if s.Allowed(carl, metadata.Select, metadata.Object{Database: "any", Table: "t"}) {
		t.Error("a revoked role's rights count")
	}
	must(t, s, "REVOKE SELECT, INSERT ON shop.* FROM ada")
	if s.Allowed(metadata.Identity{User: "ada", Host: "%"}, metadata.Select, metadata.Object{Database: "shop", Table: "x"}) ||
		!s.Allowed(metadata.Identity{User: "ada", Host: "%"}, metadata.Update, metadata.Object{Database: "shop", Table: "Orders"}) {
		t.Error("REVOKE on a database took the wrong rights")
	}
}

func TestErrors(t *testing.T) {
	s := open(t, fileio.NewMemory())
	must(t, s, "CREATE USER ada, eve", "GRANT SELECT ON shop.* TO ada WITH GRANT OPTION")
	ada := metadata.Account{Identity: metadata.Identity{User: "ada", Host: "%"}}
	kindOf(t, s, root, "CREATE USER ada", errs.CannotUser)
	kindOf(t, s, root, "DROP USER nobody", errs.CannotUser)
	kindOf(t, s, root, "DROP USER IF EXISTS nobody", errs.KindNone)
	kindOf(t, s, root, "ALTER USER nobody IDENTIFIED BY 'x'", errs.CannotUser)
	kindOf(t, s, root, "GRANT SELECT ON *.* TO nobody", errs.NoAutoCreate)
	kindOf(t, s, root, "REVOKE SELECT ON shop.* FROM eve", errs.NoSuchGrant)
	kindOf(t, s, root, "GRANT SELECT (a) ON shop.t TO eve", errs.NotSupported)
	kindOf(t, s, ada, "GRANT SELECT ON shop.t TO eve", errs.KindNone)
	kindOf(t, s, ada, "GRANT INSERT ON shop.t TO eve", errs.TableDenied)
	kindOf(t, s, ada, "GRANT SELECT ON other.* TO eve", errs.DatabaseDenied)
	kindOf(t, s, ada, "GRANT SELECT ON *.* TO eve", errs.AccessDenied)
	kindOf(t, s, root, "DROP USER root@localhost", errs.CannotUser)
	kindOf(t, s, root, "REVOKE ALL PRIVILEGES, GRANT OPTION FROM root@localhost", errs.CannotUser)
	kindOf(t, s, root, "CREATE USER x IDENTIFIED WITH sha256_password BY 'y'", errs.NotSupported)
	must(t, s, "CREATE ROLE a, b", "GRANT a TO b")
	kindOf(t, s, root, "GRANT b TO a", errs.CannotUser)
}

func TestLookup(t *testing.T) {
	s := open(t, fileio.NewMemory())
	must(t, s, "CREATE USER u@'%' IDENTIFIED BY 'any'", "CREATE USER u@'10.0.%' IDENTIFIED BY 'net'", "CREATE USER u@'10.0.0.7' IDENTIFIED BY 'one'",
		"CREATE USER u@localhost IDENTIFIED BY 'here'", "CREATE USER m@'192.168.0.0/255.255.0.0'", "CREATE USER p@'fd00::/8'")
	for _, c := range []struct{ user, host, hash string }{
		{"u", "10.0.0.7", "hash of one"}, {"u", "10.0.3.1", "hash of net"}, {"u", "10.1.0.7", "hash of any"}, {"u", "127.0.0.1", "hash of here"},
		{"u", "::1", "hash of here"}, {"u", "localhost", "hash of here"}, {"u", "::ffff:10.0.0.7", "hash of one"},
	} {
		if a, ok := s.Lookup(c.user, c.host); !ok || a.Hash != c.hash {
			t.Errorf("%s from %s: %+v %v, want %s", c.user, c.host, a, ok, c.hash)
		}
	}
	for _, c := range []struct {
		user, host string
		want       bool
	}{{"m", "192.168.3.4", true}, {"m", "192.169.3.4", false}, {"p", "fd12::1", true}, {"p", "fe80::1", false}, {"root", "127.0.0.1", true},
		{"root", "10.0.0.1", false}, {"nobody", "10.0.0.1", false}, {"", "10.0.0.1", false}} {
		if _, ok := s.Lookup(c.user, c.host); ok != c.want {
			t.Errorf("%s from %s: %v", c.user, c.host, ok)
		}
	}
	must(t, s, "ALTER USER u@localhost ACCOUNT LOCK")
	if a, _ := s.Lookup("u", "::1"); !a.Locked {
		t.Error("ACCOUNT LOCK does not show")
	}
}

// failing is a store that cannot write.
type failing struct{ fileio.FileIO }

func (failing) WriteFile(context.Context, string, []byte) error { return errors.New("disk full") }

func TestFailedWriteChangesNothing(t *testing.T) {
	files := fileio.NewMemory()
	s := open(t, files)
	must(t, s, "CREATE USER ada")
	s.db.SetPersister(persister{Options{Files: failing{files}, Path: "/data/accounts"}})
	for _, x := range []string{"CREATE USER eve", "GRANT SELECT ON *.* TO ada", "DROP USER ada", "RENAME USER ada TO bea"} {
		if err := as(t, s, root, x); err == nil {
			t.Errorf("%s: no error", x)
		}
	}
	if got := grants(t, s, "ada", "%"); got != "GRANT USAGE ON *.* TO `ada`@`%`" {
		t.Error(got)
	}
	if n := len(s.List()); n != 2 {
		t.Errorf("%d accounts", n)
	}
	s.db.SetPersister(persister{Options{Files: files, Path: "/data/accounts"}})
	must(t, s, "GRANT INSERT ON *.* TO ada")
	if got := grants(t, s, "ada", "%"); got != "GRANT INSERT ON *.* TO `ada`@`%`" {
		t.Error(got)
	}
}

func TestEncode(t *testing.T) {
	for _, n := range []string{"", "orders", "Orders", "ORDERS", "a^b", "Ä", "ä", "K", "k", "K", "^4f;", "x^"} {
		e := encode(n)
		if strings.ToLower(e) != e {
			t.Errorf("%q is not lower case", e)
		}
		if decode(e) != n {
			t.Errorf("%q came back as %q", n, decode(e))
		}
	}
}
