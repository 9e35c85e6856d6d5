package session

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/server/metadata"
)

// rights are the accounts of a test: who may do what where.
type rights struct {
	metadata.RootOnly
	of map[metadata.Identity]map[metadata.Object]metadata.Privilege
}

func (r rights) Allowed(who metadata.Identity, p metadata.Privilege, on metadata.Object) bool {
	have := r.of[who]
	p &^= have[metadata.Object{}] | have[metadata.Object{Catalog: on.Catalog, Database: on.Database}] | have[on]
	return p == 0
}

func (r rights) Visible(who metadata.Identity, on metadata.Object) bool {
	for o, p := range r.of[who] {
		if p != 0 && o != (metadata.Object{}) && o.Catalog == on.Catalog && o.Database == on.Database && (on.Table == "" || o.Table == "" || o.Table == on.Table) {
			return true
		}
	}
	return false
}

func TestAuthorization(t *testing.T) {
	ada, bob := metadata.Identity{User: "ada", Host: "%"}, metadata.Identity{User: "bob", Host: "%"}
	srv := server(t, func(c *Config) {
		c.Accounts = rights{of: map[metadata.Identity]map[metadata.Object]metadata.Privilege{
			ada: {{Database: "shop", Table: "orders"}: metadata.Select},
			bob: {{Catalog: "cold", Database: "arch"}: metadata.Select | metadata.Create},
		}}
	})
	login := func(who metadata.Identity) *Session {
		return session(t, srv, OpenOptions{Account: metadata.Account{Identity: who}, User: who.User, Address: "10.0.0.9:5"})
	}
	a, b := login(ada), login(bob)
	want(t, a, "SHOW DATABASES", "information_schema\nperformance_schema\nshop")
	want(t, b, "SHOW DATABASES", "cold.arch\ninformation_schema\nperformance_schema")
	want(t, a, "SELECT COUNT(*) FROM shop.orders", "3")
	want(t, a, "SELECT COUNT(*) FROM shop.`orders$snapshots`", "1")
	want(t, a, "SHOW TABLES FROM shop", "orders")
	want(t, a, "SELECT USER(), CURRENT_USER()", "ada@10.0.0.9|ada@%")
	want(t, b, "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'shop'", "0")
	want(t, b, "SELECT COUNT(*) FROM information_schema.columns WHERE table_name = 'orders'", "0")
	query(t, b, "USE `cold.arch`")
	for text, kind := range map[string]errs.Kind{
		"SELECT * FROM shop.orders":                           errs.TableDenied,
		"SELECT * FROM (SELECT 1 FROM shop.orders) x":         errs.TableDenied,
		"SELECT (SELECT COUNT(*) FROM shop.orders)":           errs.TableDenied,
		"SELECT * FROM lake.shop.orders":                      errs.TableDenied,
		"EXPLAIN SELECT * FROM shop.orders":                   errs.TableDenied,
		"USE shop":                                            errs.DatabaseDenied,
		"SHOW TABLES FROM shop":                               errs.DatabaseDenied,
		"SHOW CREATE TABLE shop.orders":                       errs.TableDenied,
		"DESCRIBE shop.orders":                                errs.TableDenied,
		"SELECT * FROM mysql.user":                            errs.TableDenied,
		"SET GLOBAL time_zone = '+00:00'":                     errs.PrivilegeNeeded,
		"CREATE USER x":                                       errs.PrivilegeNeeded,
		"DROP TABLE shop.orders":                              errs.TableDenied,
		"CREATE TABLE shop.x (a INT)":                         errs.TableDenied,
		"INSERT INTO shop.orders VALUES (1, 'a', 1, 'b')":     errs.TableDenied,
		"INSERT INTO `cold.arch`.t SELECT * FROM shop.orders": errs.TableDenied,
		"CREATE DATABASE mine":                                errs.DatabaseDenied,
		"DROP DATABASE shop":                                  errs.DatabaseDenied,
		"CREATE TABLE information_schema.x (a INT)":           errs.DatabaseDenied,
		"FLUSH TABLES":                                        errs.PrivilegeNeeded,
		"EXECUTE PIPELINE WITHYAML (a: b)":                    errs.NotSupported,
	} {
		wantKind(t, b, text, kind)
	}
	if _, err := srv.Open(t.Context(), OpenOptions{Account: metadata.Account{Identity: bob}, Database: "shop"}); !errs.Is(err, errs.DatabaseDenied) {
		t.Errorf("login with a database of others: %v", err)
	}
	// Threads: one's own only.
	if got := query(t, a, "SHOW PROCESSLIST"); strings.Contains(got, "bob") || !strings.Contains(got, "ada") {
		t.Error(got)
	}
	wantKind(t, a, "KILL "+uitoa(b.ID()), errs.PrivilegeNeeded)
	a2 := login(ada)
	query(t, a, "KILL QUERY "+uitoa(a2.ID()))
}

func TestSecretsStayOutOfTheProcessList(t *testing.T) {
	srv := server(t)
	s := session(t, srv, OpenOptions{})
	wantKind(t, s, "CREATE USER x IDENTIFIED BY 'secret'", errs.NotSupported)
	s.mu.Lock()
	defer s.mu.Unlock()
	if strings.Contains(s.proc.info, "secret") {
		t.Error(s.proc.info)
	}
}

// Sessions may run, be listed and be killed at the same time.
func TestConcurrentSessions(t *testing.T) {
	srv := server(t)
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			for j := range 20 {
				s, err := srv.Open(t.Context(), OpenOptions{Database: "shop"})
				if err != nil {
					t.Error(err)
					return
				}
				for _, text := range []string{"SELECT region, SUM(amount) FROM orders GROUP BY region", "SHOW FULL PROCESSLIST", "SHOW VARIABLES",
					"SELECT table_name FROM information_schema.tables WHERE table_schema = 'shop'", fmt.Sprintf("SET @x = %d, wait_timeout = %d", i, j+1),
					"SET GLOBAL long_query_time = 5", "SHOW STATUS", fmt.Sprintf("KILL QUERY %d", s.ID()-1)} {
					if _, err := rows(t.Context(), s, text); err != nil && !errs.Is(err, errs.NoSuchThread) && !errs.Is(err, errs.Killed) {
						t.Errorf("%s: %v", text, err)
					}
				}
				s.Close()
			}
		})
	}
	wait.Wait()
	srv.mu.Lock()
	defer srv.mu.Unlock()
	if len(srv.sessions) != 0 {
		t.Errorf("%d sessions left", len(srv.sessions))
	}
}
